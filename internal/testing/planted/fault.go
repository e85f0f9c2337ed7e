package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// A fault makes production code break a rule: old is replaced by new.
type fault struct {
	what     string // the code does with the fault
	file     string // from the top of the repository
	old, new string // old is in the file once
	tests    string // beside the simulator: packages, each with a pattern of tests, as "engine TestA|TestB; scripts TestC"
}

// faults are all.
func faults() (all []fault) {
	for _, of := range [][]fault{rules, pipelines, engines, heals, lua} {
		all = append(all, of...)
	}
	return all
}

// where returns the package of the fault.
func (f fault) where() string { return filepath.Dir(f.file) }

// constants has the SHA-1 of each script.
const constants = "scripts/scripts.go"

// named returns the tests that look for the fault beside the simulator, package by package.
func (f fault) named() iter.Seq2[string, string] {
	return func(yield func(pkg, pattern string) bool) {
		for _, entry := range strings.Split(f.tests, "; ") {
			if pkg, pattern, _ := strings.Cut(entry, " "); !yield(pkg, pattern) {
				return
			}
		}
	}
}

// planted returns the files that the fault changes, with their text. A script is called by its SHA-1, so the constant for the
// SHA-1 changes, too.
func (f fault) planted(top string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(top, f.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), f.old); n != 1 {
		return nil, fmt.Errorf("%s: %q is there %d times, not once", f.file, f.old, n)
	}
	changed := strings.Replace(string(text), f.old, f.new, 1)
	files := map[string]string{f.file: changed}
	if filepath.Ext(f.file) == ".lua" {
		names, err := os.ReadFile(filepath.Join(top, constants))
		if err != nil {
			return nil, err
		}
		files[constants] = strings.Replace(string(names), sha1Of(string(text)), sha1Of(changed), 1)
	}
	return files, nil
}

func sha1Of(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
