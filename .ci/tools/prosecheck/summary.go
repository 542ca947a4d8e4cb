package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"text/tabwriter"
)

// printSummary writes a table of counts: a row per directory, a column per
// pattern.
func printSummary(w io.Writer, found []finding) {
	counts := map[string]map[string]int{}
	patterns := map[string]bool{}
	for _, f := range found {
		dir := path.Dir(f.path)
		if counts[dir] == nil {
			counts[dir] = map[string]int{}
		}
		counts[dir][f.pattern]++
		counts[dir]["total"]++
		patterns[f.pattern] = true
	}
	columns := append(slices.Sorted(maps.Keys(patterns)), "total")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	printRow(table, "directory", columns, func(c string) any { return c })
	sums := map[string]int{}
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		printRow(table, dir, columns, func(c string) any { return counts[dir][c] })
		for c, n := range counts[dir] {
			sums[c] += n
		}
	}
	printRow(table, "all", columns, func(c string) any { return sums[c] })
	table.Flush()
}

func printRow(w io.Writer, head string, columns []string, cell func(string) any) {
	fmt.Fprint(w, head)
	for _, c := range columns {
		fmt.Fprintf(w, "\t%v", cell(c))
	}
	fmt.Fprintln(w, "\t")
}
