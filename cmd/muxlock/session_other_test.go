//go:build !unix

package main

import "syscall"

var withoutTerminal *syscall.SysProcAttr
