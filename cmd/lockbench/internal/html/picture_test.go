package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/view"
)

// barsOf returns the attributes of the rectangles of a picture, in order.
func barsOf(t *testing.T, svg []byte) (bars []map[string]string) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return bars
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bar := map[string]string{}
			for _, a := range e.Attr {
				bar[a.Name.Local] = a.Value
			}
			bars = append(bars, bar)
		}
	}
}

func TestPictureHasABarForEachInProportion(t *testing.T) {
	var svg bytes.Buffer
	require.NoError(t, WritePicture(&svg, view.Bars{Title: "a < b", Rows: []view.Bar{{Label: "mine", Value: 100, Text: "100/s"}, {Label: "theirs", Value: 50}, {Label: "none"}}}))
	bars := barsOf(t, svg.Bytes())
	require.Len(t, bars, 3)
	require.Equal(t, []string{"440", "220", "1"}, []string{bars[0]["width"], bars[1]["width"], bars[2]["width"]})
	require.Equal(t, []string{"bar", "rest", "rest"}, []string{bars[0]["class"], bars[1]["class"], bars[2]["class"]})
	require.Contains(t, svg.String(), "prefers-color-scheme: dark")
	require.Contains(t, svg.String(), "a &lt; b")
}

func TestPictureOfNothingIsStillOne(t *testing.T) {
	var svg bytes.Buffer
	require.NoError(t, WritePicture(&svg, view.Bars{Title: "nothing"}))
	require.Empty(t, barsOf(t, svg.Bytes()))
}
