package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/spelling"
)

// setParams applies settings like "strength=80" to values, which are in the order of
// the effect's parameters. The error names the wrong setting.
func setParams(values []field.Vec4, p *field.Program, settings []string) error {
	params := p.Params()
	set := map[string]bool{}
	for _, setting := range settings {
		name, text, found := strings.Cut(setting, "=")
		name = strings.TrimSpace(name)
		if !found {
			return fmt.Errorf("--param %s: a value is missing; expected NAME=VALUE", setting)
		}
		i := slices.IndexFunc(params, func(p field.Param) bool { return p.Name == name })
		if i < 0 {
			return fmt.Errorf("--param %s: the effect has no parameter %q; %s", setting, name, knownParams(name, params))
		}
		if set[name] {
			return fmt.Errorf("--param %s: %s is set twice", setting, name)
		}
		set[name] = true
		value, err := parseVector(text)
		if err != nil {
			return fmt.Errorf("--param %s: %w", setting, err)
		}
		if err := checkValue(&params[i], text, value); err != nil {
			return fmt.Errorf("--param %s: %w", setting, err)
		}
		values[i] = value
	}
	return nil
}

func knownParams(name string, params []field.Param) string {
	if len(params) == 0 {
		return "it has no parameters"
	}
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	all := "it has " + strings.Join(names, ", ")
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s? (%s)", near, all)
	}
	return all
}

// checkValue returns an error unless the parameter allows the value.
func checkValue(p *field.Param, text string, value field.Vec4) error {
	switch {
	case p.Scalar && strings.Contains(text, "("):
		return fmt.Errorf("%s is a number, not a vector", p.Name)
	case !p.Allows(value):
		return fmt.Errorf("%s must be from %g to %g", p.Name, p.Min, p.Max)
	}
	return nil
}

// parseVector parses a value as in an effect's text: a number stands for four lanes, a
// vector has three or four.
func parseVector(text string) (v field.Vec4, err error) {
	text = strings.TrimSpace(text)
	inner, isVector := strings.CutPrefix(text, "(")
	if !isVector {
		number, err := parseNumber(text)
		return field.Vec4{number, number, number, number}, err
	}
	inner, closed := strings.CutSuffix(inner, ")")
	lanes := strings.Split(inner, ",")
	if !closed || len(lanes) < 3 || len(lanes) > 4 {
		return v, fmt.Errorf("%s is not a vector; expected one like (1, 2, 3)", text)
	}
	for i, lane := range lanes {
		if v[i], err = parseNumber(strings.TrimSpace(lane)); err != nil {
			return v, err
		}
	}
	return v, nil
}

func parseNumber(text string) (float32, error) {
	f, err := strconv.ParseFloat(text, 32)
	if err != nil || f-f != 0 { // infinity or NaN
		return 0, fmt.Errorf("%q is not a number; expected one like 80 or -0.5, or a vector like (1, 2, 3)", text)
	}
	return float32(f), nil
}
