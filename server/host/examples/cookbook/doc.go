// Package cookbook holds the snippets of COOKBOOK.md as tests, each a small game that plays. The test of the page
// fails if it quotes anything else.
package cookbook
