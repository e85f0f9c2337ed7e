// Package hostile has fuzz targets in which one master sends any bytes that the fuzzer chooses, at any point of its
// connections. The other masters are those of package redisfake. The engine must neither panic nor take memory beyond a bound.
// Its locks must go on as without the hostile master, and no key of theirs may be left.
package hostile
