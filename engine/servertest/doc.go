// Package servertest has the tests of package engine that start servers or processes, and need only what engine exports.
package servertest
