package bot

// Metric is a counter of a game's behaviors, or with a Unit a value that they sample.
type Metric struct {
	Name     string   // unique in the report, as shots_missed
	Unit     string   // of samples, as mm
	Scenario Scenario // in which it is measured; "": in all
}

// Names returns the names of its numbers in the report: Name, or of samples three percentiles,
// as error_p50_mm, error_p99_mm and error_max_mm.
func (m Metric) Names() []string {
	if m.Unit == "" {
		return []string{m.Name}
	}
	return []string{m.Name + "_p50_" + m.Unit, m.Name + "_p99_" + m.Unit, m.Name + "_max_" + m.Unit}
}
