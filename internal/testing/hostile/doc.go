// Package hostile has fuzz targets in which one master answers with what the fuzzer likes, at any point of its connections.
// The others are masters of package redisfake. The engine must neither panic nor take memory beyond a bound. Its locks
// must work on as they do without that master, and nothing may be left of it.
package hostile
