package result

import (
	"slices"

	"muxlock/bench"
)

// A comparison without flags of the load has several loads. Each result names its load in Setting.
const LoadSetting = "load"

// LoadName names a load.
type LoadName string

// The loads.
const (
	OwnNames   LoadName = "own names"   // each worker has one: what the masters can do
	LoneCaller LoadName = "lone caller" // the same for one worker
	OneName    LoadName = "one name"    // wanted by several processes
)

// Load is one load of a comparison.
type Load struct {
	Name  LoadName `json:"name"`
	Impls []string `json:"impls"` // in the order of its table
	bench.Config
}

// Of returns the part of a document that is of one load. Without loads there is one part, the document.
func (d Document) Of(name LoadName) (part Document, ok bool) {
	i := slices.IndexFunc(d.Config.Loads, func(l Load) bool { return l.Name == name })
	if i < 0 {
		return Document{}, false
	}
	part, load := d, d.Config.Loads[i]
	part.Config.Config, part.Config.Impls, part.Config.Loads = load.Config, load.Impls, nil
	part.Results = OfLoad(d.Results, name)
	part.Relative = slices.DeleteFunc(slices.Clone(d.Relative), func(r Relative) bool { return r.Load != name })
	return part, true
}

// Parts returns the parts of a document by load; the document itself if it has no loads.
func (d Document) Parts() (parts []Document) {
	for _, l := range d.Config.Loads {
		part, _ := d.Of(l.Name)
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return []Document{d}
	}
	return parts
}

// OfLoad returns the results of a load.
func OfLoad(results []*bench.Result, name LoadName) []*bench.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r *bench.Result) bool { return r.Setting[LoadSetting] != string(name) })
}
