"use strict";
const $ = (id) => document.getElementById(id);
const ends = new URLSearchParams(location.search);
let drawn = null;  // the snapshot whose drawing is shown

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function age(seconds) {
  const units = [[86400, "days"], [3600, "hours"], [60, "minutes"]];
  const unit = units.find(([size]) => seconds >= 2 * size);
  return unit ? `${Math.floor(seconds / unit[0])} ${unit[1]}` : `${seconds} seconds`;
}

async function get(path) {
  const reply = await fetch(path);
  return reply.json();
}

// What is shown stays up to date; what was drawn is drawn again when other dumps answer.
async function showFacts() {
  let facts;
  try {
    facts = await get("api/v1/stats");
  } catch {
    $("trouble").textContent = "The service does not answer.";
    return;
  }
  $("trouble").textContent = facts.trouble === "-" ? "" :
    `The newest dumps are not taken: ${facts.trouble}` + (facts.snapshot ? " — what is shown is older." : "");
  const shown = facts.snapshot ? {
    "age of the data": age(facts.data_age_seconds), snapshot: facts.snapshot, hosts: facts.hosts,
    switches: facts.switches, "routes from": facts.basis, requests: facts.requests, connections: facts.connections,
  } : {};
  $("facts").replaceChildren(...Object.entries(shown).map(([name, value]) => {
    const item = document.createElement("li");
    item.append(element("b", value), element("span", name));
    return item;
  }));
  if (drawn !== null && facts.snapshot && facts.snapshot !== drawn) await showNetwork();
  drawn = facts.snapshot || drawn;
  await showAskers();
  $("found").replaceChildren(...facts.what_was_found.map((it) => element("li", `${it.kind}: ${it.text}`)));
}

function fill(table, heads, rows) {
  const head = document.createElement("tr");
  head.append(...heads.map((name) => element("th", name)));
  table.replaceChildren(...(rows.length ? [head] : []), ...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((it) => element("td", it)));
    return row;
  }));
  return table;
}

function routeTable(route) {
  return fill(document.createElement("table"), ["switch", "GUID", "in", "out", "link out"],
    route.switches.map((hop) => [hop.name, hop.guid, hop.in, hop.out, hop.rate ?? "nothing there"]));
}

async function showAskers() {
  const { askers = [] } = await get("api/v1/askers");
  $("nobody").hidden = askers.length > 0;
  fill($("askers"), ["address", "requests", "last"], askers.map((it) => [it.address, it.requests, `${age(it.seconds_ago)} ago`]));
}

async function showLoads() {
  if (!ends.get("among")) return;
  $("crowd").elements.among.value = ends.get("among");
  const answer = await get(`api/v1/loads?${ends}`);
  $("idle").hidden = !answer.error && answer.loads.length > 0;
  if (answer.error) $("idle").textContent = `${answer.error.code}: ${answer.error.text}`;
  else fill($("loads"), ["link", "routes", "speed"], answer.loads.map((it) => [`${it.near} → ${it.far}`, it.routes, it.rate]));
}

async function showRoute() {
  if (!ends.get("from")) return;
  for (const name of ["from", "to"]) $("ask").elements[name].value = ends.get(name) ?? "";
  const route = await get(`api/v1/route?${ends}`);
  if (route.error) {
    $("route").replaceChildren(element("p", `${route.error.code}: ${route.error.text}`));
    return;
  }
  const slowest = route.bottleneck.gbps ? `, slowest ${route.bottleneck.rate} (${route.bottleneck.gbps} Gbit/s)` : "";
  const links = route.links < 0 ? `: ${route.reason}` : `, ${route.links} links${slowest}`;
  $("route").replaceChildren(
    element("h2", `${route.source.name} → ${route.target.name}`), element("p", route.status + links), routeTable(route));
}

async function showDrawing() {
  const asked = ends.get("from") || ends.get("among");
  let reply = await fetch(asked ? `fabric.svg?${ends}` : "fabric.svg");
  if (!reply.ok && asked) reply = await fetch("fabric.svg");
  if (!reply.ok) return;
  const picture = new DOMParser().parseFromString(await reply.text(), "image/svg+xml");
  $("drawing").replaceChildren(document.importNode(picture.documentElement, true));
}

async function showHosts() {
  const { hosts = [] } = await get("api/v1/hosts");
  $("hosts").replaceChildren(...hosts.map((name) => {
    const option = document.createElement("option");
    option.value = name;
    return option;
  }));
}

async function showNetwork() {
  await showRoute();
  await showLoads();
  await showDrawing();
  await showHosts();
}

async function show() {
  await showFacts();
  await showNetwork();
}

show();
setInterval(showFacts, 5000);
