#pragma once
// Files that somebody has named: read to their end, or not at all.

#include <string>

#include "base/ids.hpp"

namespace espalier {

/// All of a regular file of at most `limit` bytes. Never waits: pipes and devices, which may have no end or nobody at
/// the other one, are refused. Throws Error that begins with the path, fit for a person: what cannot be opened or read,
/// is no regular file, or is larger (also while it is read).
std::string read_file(const std::string& path, Bytes limit);

/// All of one of the kernel's own files, in /proc or /sys; empty: there is none, or it cannot be read. Not by the
/// library's streams: their locales would be a quarter of what every preloaded process loads.
std::string read_system_file(const std::string& path);
/// Without its end.
std::string read_first_line(const std::string& path);

/// A descriptor of a regular file, to be closed by the caller, for those who read piece by piece. Throws as read_file.
int open_file(const std::string& path);

/// The same file once the program works in another folder; empty stays empty.
std::string to_absolute(const std::string& path);

/// What would go wrong if replace_file() were called now, or nothing. Really tried, but for the last step.
std::string probe_replacing(const std::string& path);
/// Replaces the file in one step, so that a reader never sees half of it; links to it stay. Into what is no file, as
/// /dev/stdout, the text is written. Returns what went wrong, or nothing.
std::string replace_file(const std::string& path, const std::string& text);
/// The same of a regular file that nobody else replaces meanwhile, as who holds a lock knows: what somebody who was
/// killed has left of it is written over.
std::string replace_locked_file(const std::string& path, const std::string& text);

}  // namespace espalier
