// Plays plans: `plans` is what plan_page.py wrote. Times in µs.
"use strict";
const COLUMNS = 240, ROW = 15, BAR = 9, GAP = 7, HEAD = 6;
const KINDS = ["copying", "combining", "starting", "waiting"];
const KIND_COLOURS = { copying: "--idle", combining: "--half", starting: "--c0", waiting: "--rule" };
const slider = document.getElementById("when"), clock = document.getElementById("clock"), go = document.getElementById("go");
const end = Math.max(...plans.map((plan) => plan.us));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const spell = (us) => us < 1e3 ? `${us.toFixed(us < 10 ? 2 : 1)} µs` : `${(us / 1e3).toFixed(2)} ms`;
const spellBytes = (n) => n < 1024 ? `${n} B` : n < 1 << 20 ? `${+(n / 1024).toFixed(1)} KiB` : `${+(n / (1 << 20)).toFixed(1)} MiB`;

// How many of a sorted list's items are at or before a time.
function countUntil(items, us, time) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time(items[middle]) <= us) low = middle + 1; else high = middle;
  }
  return low;
}

class Panel {
  constructor(plan, section) {
    this.plan = plan;
    this.canvas = section.querySelector("canvas");
    this.said = section.querySelector("output");
    this.tops = [];
    let y = HEAD;
    plan.nodes.forEach((node, rank) => {
      if (rank > 0 && node !== plan.nodes[rank - 1]) y += GAP;
      this.tops.push(y);
      y += ROW;
    });
    this.height = y + 4;
    this.reset();
  }

  reset() {
    this.done = 0;
    this.levels = this.plan.nodes.map(() => new Uint16Array(COLUMNS));
  }

  // Brings the levels to a time; going back begins anew.
  seek(us) {
    const until = countUntil(this.plan.holds, us, (it) => it[0]);
    if (until < this.done) this.reset();
    for (; this.done < until; this.done++) {
      const [, rank, first, last, level] = this.plan.holds[this.done];
      const scale = COLUMNS / this.plan.data;
      const levels = this.levels[rank];
      for (let c = Math.max(0, Math.ceil(first * scale - .5)); c < COLUMNS && c + .5 < last * scale; c++)
        levels[c] = Math.max(levels[c], level);
    }
  }

  hasAll(rank) {
    const [first, last, level] = this.plan.needs[rank];
    const scale = COLUMNS / this.plan.data;
    for (let c = Math.max(0, Math.ceil(first * scale - .5)); c < COLUMNS && c + .5 < last * scale; c++)
      if (this.levels[rank][c] < level) return false;
    return true;
  }

  draw(us) {
    this.seek(us);
    const width = this.canvas.clientWidth, ratio = devicePixelRatio || 1;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = width * ratio;
    this.canvas.height = this.height * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    this.left = 66;
    this.middle = this.left + Math.max(56, width * .2);
    this.right = width - 16;
    this.plan.nodes.forEach((_, rank) => this.drawRank(pen, rank, us));
    this.drawMessages(pen, us);
    this.tell(us);
  }

  drawRank(pen, rank, us) {
    const y = this.tops[rank], node = this.plan.nodes[rank];
    pen.font = "10px system-ui, sans-serif";
    pen.fillStyle = colour("--faint");
    if (rank === 0 || node !== this.plan.nodes[rank - 1]) pen.fillText(`node ${node}`, 0, y + BAR);
    pen.fillStyle = colour("--ink");
    pen.textAlign = "right";
    pen.fillText(rank, this.left - 14, y + BAR);
    pen.textAlign = "left";
    pen.fillStyle = colour(this.activity(rank, us));
    pen.fillRect(this.left - 10, y, 6, BAR);
    this.drawBar(pen, rank, y);
  }

  drawBar(pen, rank, y) {
    const width = this.right - this.middle, column = width / COLUMNS, levels = this.levels[rank];
    pen.fillStyle = colour("--rule");
    pen.globalAlpha = .45;
    pen.fillRect(this.middle, y, width, BAR);
    for (let c = 0, begin = 0; c <= COLUMNS; c++) {
      if (c < COLUMNS && c > 0 && levels[c] === levels[begin] && this.tint(c) === this.tint(begin)) continue;
      if (levels[begin]) {
        pen.globalAlpha = .3 + .7 * levels[begin] / this.plan.most;
        pen.fillStyle = colour(this.tint(begin));
        pen.fillRect(this.middle + begin * column, y, (c - begin) * column, BAR);
      }
      begin = c;
    }
    pen.globalAlpha = 1;
    if (!this.hasAll(rank)) return;
    pen.fillStyle = colour("--own");
    pen.fillText("✓", this.right + 4, y + BAR);
  }

  // Blocks have the colour of the node that they come from or are for.
  tint(column) {
    const blocks = this.plan.tints;
    return blocks.length ? `--c${blocks[Math.floor((column + .5) / COLUMNS * blocks.length)]}` : "--own";
  }

  // What a rank is doing, as a colour.
  activity(rank, us) {
    const spans = this.plan.spans[rank];
    const at = countUntil(spans, us, (it) => it[0]) - 1;
    return at >= 0 && us < spans[at][1] ? KIND_COLOURS[KINDS[spans[at][2]]] : "--ground";
  }

  // Each message under way is a line from its sender's row to its receiver's, and a dot where it is.
  drawMessages(pen, us) {
    const from = this.left, to = this.middle - 6;
    this.flying = 0;
    for (const [origin, target, , setOut, arrival] of this.plan.flights) {
      if (setOut > us || arrival <= us) continue;
      this.flying++;
      const y1 = this.tops[origin] + BAR / 2, y2 = this.tops[target] + BAR / 2, share = (us - setOut) / (arrival - setOut || 1);
      pen.strokeStyle = pen.fillStyle = colour(`--c${this.plan.nodes[origin] % 6}`);
      pen.globalAlpha = .5;
      pen.beginPath();
      pen.moveTo(from, y1);
      pen.lineTo(to, y2);
      pen.stroke();
      pen.globalAlpha = 1;
      pen.beginPath();
      pen.arc(from + (to - from) * share, y1 + (y2 - y1) * share, 3, 0, 7);
      pen.fill();
    }
  }

  tell(us) {
    const ready = this.plan.nodes.filter((_, rank) => this.hasAll(rank)).length, of = this.plan.nodes.length;
    const at = countUntil(this.plan.steps, us, (it) => it[0]) - 1;
    const last = at >= 0 ? ` Last: rank ${this.plan.steps[at][1]}: ${this.plan.steps[at][2]}.` : "";
    const when = us >= this.plan.us ? `Over after ${spell(this.plan.us)}.` : `${spell(us)} of ${spell(this.plan.us)}.`;
    this.said.textContent = `${when} ${ready} of ${of} ranks have all they need, ${this.flying} messages under way.${last}`;
  }
}

const panels = plans.map((plan, i) => new Panel(plan, document.getElementById(`plan${i}`)));
const moments = [...new Set([0, ...plans.flatMap((plan) => [...plan.steps.map((it) => it[0]), ...plan.flights.flatMap((it) => [it[3], it[4]])]), end])].sort((a, b) => a - b);
let now = 0, before = null;

function show(us) {
  now = Math.min(Math.max(us, 0), end);
  slider.value = now / end * 1000 || 0;
  clock.textContent = spell(now);
  for (const panel of panels) panel.draw(now);
}

// To the next or the last moment at which something happens.
function step(by) {
  const at = countUntil(moments, now, (it) => it);
  show(by > 0 ? moments[Math.min(at, moments.length - 1)] : moments[Math.max(0, (moments[at - 1] < now ? at : at - 1) - 1)]);
}

function play(time) {
  if (before === null) return;
  show(now + (time - before) / 8000 * end);
  before = now < end ? time : null;
  go.textContent = before === null ? "Play" : "Pause";
  requestAnimationFrame(play);
}

go.onclick = () => {
  if (now >= end) show(0);
  before = before === null ? performance.now() : null;
  go.textContent = before === null ? "Play" : "Pause";
  requestAnimationFrame(play);
};
document.getElementById("back").onclick = () => step(-1);
document.getElementById("on").onclick = () => step(1);
slider.oninput = () => show(slider.value / 1000 * end);
addEventListener("resize", () => show(now));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(now));
show((parseFloat(location.hash.slice(1)) || 0) * end);
