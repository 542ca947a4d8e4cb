// Command bundle bundles TypeScript into ES modules with esbuild, without Node and npm:
//
//	go -C client/ts/bundle run . [-minify] [-platform node] OUTDIR FILE...
//
// Each FILE, like OUTDIR relative to client/ts, becomes OUTDIR/NAME.js. With -sizes it prints
// the size of each file and of its sources, and writes nothing.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	minify := flag.Bool("minify", false, "minify")
	sizes := flag.Bool("sizes", false, "print sizes instead of writing")
	node := flag.Bool("node", false, "for Node: leave imports of its modules alone")
	tables := flag.Bool("tables", false, "write src/tables.data.ts, and nothing else")
	flag.Parse()
	if *tables {
		if err := packTables(); err != nil {
			fmt.Fprintln(os.Stderr, "bundle:", err)
			os.Exit(1)
		}
		return
	}
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle [flags] OUTDIR FILE...")
		os.Exit(2)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
	options := api.BuildOptions{
		AbsWorkingDir: root, EntryPoints: flag.Args()[1:], Outdir: flag.Arg(0), Write: !*sizes,
		Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifySyntax: *minify, MinifyWhitespace: *minify, MinifyIdentifiers: *minify, LogLevel: api.LogLevelWarning,
	}
	if *node {
		options.Platform = api.PlatformNode
	}
	options.Metafile, options.Splitting = *sizes, *sizes // as application bundlers do
	result := api.Build(options)
	if len(result.Errors) > 0 {
		os.Exit(1)
	}
	if *sizes {
		for _, f := range result.OutputFiles {
			fmt.Printf("%-24s %7d B %7d B gzipped\n", filepath.Base(f.Path), len(f.Contents), gzipped(f.Contents))
		}
		if err := printParts(result.Metafile); err != nil {
			fmt.Fprintln(os.Stderr, "bundle:", err)
			os.Exit(1)
		}
	}
}

// printParts prints how many bytes of each output come from each source, largest first.
func printParts(metafile string) error {
	all, err := partsOf(metafile)
	if err != nil {
		return err
	}
	for _, output := range slices.Sorted(maps.Keys(all)) {
		parts := all[output]
		fmt.Println(output)
		for _, source := range slices.SortedFunc(maps.Keys(parts), func(a, b string) int { return parts[b] - parts[a] }) {
			fmt.Printf("  %-22s %7d B\n", source, parts[source])
		}
	}
	return nil
}

// partsOf returns how many bytes of each output come from each source.
func partsOf(metafile string) (map[string]map[string]int, error) {
	var meta struct {
		Outputs map[string]struct {
			Inputs map[string]struct {
				BytesInOutput int `json:"bytesInOutput"`
			}
		}
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, err
	}
	parts := map[string]map[string]int{}
	for output, o := range meta.Outputs {
		parts[output] = map[string]int{}
		for source, in := range o.Inputs {
			parts[output][source] = in.BytesInOutput
		}
	}
	return parts, nil
}

// gzipped returns the size of b after gzip.
func gzipped(b []byte) int {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	w.Write(b)                                              // a Buffer returns no errors
	w.Close()
	return out.Len()
}
