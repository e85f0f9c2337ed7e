//go:build unix

package main

import "syscall"

// withoutTerminal is how cron starts a process: in a session of its own.
var withoutTerminal = &syscall.SysProcAttr{Setsid: true}
