package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/scenes"
)

const (
	// warnedShare is the share of a tick's time from which effects cause a warning;
	// contacts, snapshots and transport need the rest.
	warnedShare = 0.5
	// warnedEffects is the number of effects named in a warning.
	warnedEffects = 3
)

// costWarning returns a warning about the effects' cost, or "".
func costWarning(costs []scenes.EffectCost, tickHz int) string {
	var all time.Duration
	for _, e := range costs {
		all += e.PerTick
	}
	tick := time.Second / time.Duration(tickHz)
	if all.Seconds() < warnedShare*tick.Seconds() {
		return ""
	}
	var named []string
	for _, e := range costs[:min(len(costs), warnedEffects)] {
		named = append(named, fmt.Sprintf("%s %.1f ms (%s)", e.Name, inMilliseconds(e.PerTick), countBodies(e.Bodies)))
	}
	if more := len(costs) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("effects may take about %.1f ms of a tick of %.1f ms, if no body in them sleeps: %s", inMilliseconds(all), inMilliseconds(tick), strings.Join(named, ", "))
}

// keepAwakeWarning returns a warning about effects that let no body sleep.
func keepAwakeWarning(effects []string) string {
	return fmt.Sprintf("no body sleeps that feels %s: such an effect changes with time, and has no box. Give it a box, or make it steady (the shipped wind by carried: 0)", strings.Join(effects, ", "))
}

func inMilliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func countBodies(n int) string {
	if n == 1 {
		return "1 body"
	}
	return fmt.Sprintf("%d bodies", n)
}
