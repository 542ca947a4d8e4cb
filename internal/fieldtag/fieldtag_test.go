package fieldtag_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fieldtag"
)

func TestLookup(t *testing.T) {
	for tag, want := range map[string]string{
		``:                         "",
		`json:"x"`:                 "",
		`was:"Old"`:                "Old",
		`json:"x" was:"A,B"`:       "A,B",
		`  was:"\u0041"  json:"x"`: "A",
		`was:""`:                   "",
		`was:"A" doc:it is older`:  "A", // another package's fault
		`doc:it was old`:           "",
		`was:"A" doc:it iwas:x`:    "A",
		`doc:"was:B" was:"A"`:      "A",
		`as:"lower" has:"x y"`:     "",
		`wash:"Every Monday"`:      "",
	} {
		value, given, err := fieldtag.Was.Lookup(reflect.StructTag(tag))
		require.NoError(t, err, tag)
		require.Equal(t, want, value, tag)
		_, expected := reflect.StructTag(tag).Lookup("was")
		require.Equal(t, expected, given, tag)
	}
	for tag, want := range map[string]string{
		`was:Old`:                 `want was:"...", without a space and in double quotes`,
		`was: "Old"`:              "double quotes",
		`was :"Old"`:              "double quotes",
		`was "Old"`:               "double quotes",
		`was Old`:                 "double quotes",
		`was='Old'`:               "double quotes",
		"was:`Old`":               "double quotes",
		`was:"Old`:                "double quotes",
		`Was:Old`:                 "double quotes",
		`json:"x",was:"Old"`:      "double quotes",
		`net:"owner" was:Old`:     "double quotes",
		`was:"A" was:B`:           "double quotes",
		`doc:it was old, was:"A"`: "double quotes",
		`Was:"Old"`:               `the key "Was" is not read: want was`,
		`WAS:"old"`:               `the key "WAS"`,
		`wsa:"Old"`:               `the key "wsa"`,
		`wass:"Old,Older"`:        `the key "wass"`,
		`was:"A" Was:"B"`:         `the key "Was"`,
		`was:"A" json:"x" was:""`: "the key was is there twice",
	} {
		_, _, err := fieldtag.Was.Lookup(reflect.StructTag(tag))
		require.ErrorContains(t, err, want, tag)
	}
}

func TestFormerNames(t *testing.T) {
	require.Equal(t, []string{"A", "gold_2", "Öl"}, fieldtag.FormerNames("A,gold_2,Öl"))
	for _, value := range []string{"", "A,", ",A", "A, B", "A.B", "A[0]", "2A", "A;B", "A-B"} {
		require.Nil(t, fieldtag.FormerNames(value), value)
	}
}
