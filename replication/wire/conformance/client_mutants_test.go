package conformance

// Mutants of pageClient: each breaks one rule of PROTOCOL.md, and must fail a vector.

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConformanceMutants checks that a client that breaks a rule fails a vector. With -v
// the log names the first case that each mutant fails.
func TestConformanceMutants(t *testing.T) {
	page, cases, exact, schemas := readPage(t), readVectors(t), readExactVectors(t), readSchemaVectors(t)
	for r := rule(1); int(r) < len(rules); r++ {
		t.Run(rules[r].section+" "+rules[r].text, func(t *testing.T) {
			require.NotEmpty(t, rules[r].text)
			if r >= schemaTextBound { // the first of the rules of schemas.jsonl
				i := slices.IndexFunc(schemas, func(l schemaLine) bool { return !l.equal(mutation{r}) })
				require.GreaterOrEqual(t, i, 0, "no line of schemas.jsonl fails a client that breaks this rule")
				t.Log("schemas.jsonl: " + schemas[i].About)
				return
			}
			if r >= exactLast { // the first of the rules of exact.jsonl
				i := slices.IndexFunc(exact.lines, func(l exactLine) bool { return !l.equal(exact.byPage(l, mutation{r})) })
				require.GreaterOrEqual(t, i, 0, "no line of exact.jsonl fails a client that breaks this rule")
				t.Log("exact.jsonl: " + exact.lines[i].About)
				return
			}
			i := slices.IndexFunc(cases, func(v vectorCase) bool { return v.play(newPageClient(t, page, v, r)) != "" })
			require.GreaterOrEqual(t, i, 0, "no vector fails a client that breaks this rule")
			t.Log(cases[i].name)
		})
	}
}
