package result

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Comparison is the whole comparison, as -o json has it. It holds no results, so that
// nobody takes it for one.
type Comparison struct {
	SchemaVersion int            `json:"schema_version"`
	Tool          Tool           `json:"tool"`
	Files         []ComparedFile `json:"files"` // the first is what the others are compared with
	Limit         float64        `json:"regression_limit"`
	Rows          []Row          `json:"comparison"`
}

// ComparedFile is one of the compared ones.
type ComparedFile struct {
	Name      string    `json:"name"`
	Tool      Tool      `json:"tool"`
	Host      string    `json:"host"`
	NotValid  int       `json:"not_valid"` // results that say so of themselves
	Unmatched []string  `json:"unmatched"` // implementations, at their settings, that are not in the first file
	Differ    []Setting `json:"differ"`    // what was different from the first file, beside the figures
}

// CompareFiles compares the documents with the first one.
func CompareFiles(names []string, docs []*Document, limit float64) Comparison {
	c := Comparison{SchemaVersion: SchemaVersion, Tool: CurrentTool(), Limit: limit, Rows: []Row{}}
	known, _ := finished(docs[0].Results)
	for i, doc := range docs {
		f := ComparedFile{Name: names[i], Tool: doc.Tool, Host: doc.Env.Host, Unmatched: []string{}, Differ: append([]Setting{}, Settings(docs[0], doc)...)}
		for _, result := range doc.Results {
			if !result.Valid.OK {
				f.NotValid++
			}
		}
		own, _ := finished(doc.Results)
		for _, name := range own {
			if !slices.Contains(known, name) {
				f.Unmatched = append(f.Unmatched, name)
			}
		}
		c.Files = append(c.Files, f)
		if i > 0 {
			c.Rows = append(c.Rows, Rows(docs[0].Results, doc.Results, names[i], limit)...)
		}
	}
	return c
}

// Setting is one that was not the same in both files, by its name in the document.
type Setting struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// expected is what differs between any two runs, or says nothing about the figures.
var expected = []string{"config.command", "config.key_prefix", "config.masters", "config.seed", "config.rounds", "config.reference",
	"config.impls", "config.slo", "tool.commit", "tool.version"}

// Settings tells what else was different: workload, masters, machine, Go.
func Settings(older, newer *Document) (differ []Setting) {
	was, is := flat(older), flat(newer)
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Contains(expected, name) && !reflect.DeepEqual(was[name], is[name]) {
			differ = append(differ, Setting{name, text(was[name]), text(is[name])})
		}
	}
	return differ
}

// flat is config, env and tool as JSON names them, and the number of masters.
func flat(doc *Document) map[string]any {
	all := map[string]any{"masters": len(doc.Config.Masters)}
	for section, v := range map[string]any{"config": doc.Config, "env": doc.Env, "tool": doc.Tool} {
		b, _ := json.Marshal(v) // it was JSON
		fields := map[string]any{}
		_ = json.Unmarshal(b, &fields)
		for name, v := range fields {
			all[section+"."+name] = v
		}
	}
	return all
}

func text(v any) string {
	if v == nil {
		return "-"
	}
	b, _ := json.Marshal(v)
	return string(b)
}
