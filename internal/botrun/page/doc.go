// Package page writes the report of a load test as one HTML page: figures, plots over
// time, and failures. The page is self-contained, so it opens without a network, from a
// mail or a CI's artifacts.
//
//	botrun.Report ► charts (series of points, gaps where nothing was measured) ──► SVG ──┐
//	           └─► figures, thresholds, failures ──────────────────────────────────────┴──► template ──► one file
package page
