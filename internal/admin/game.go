package admin

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"
)

// gamePath begins the paths of the game's own routes, which do not see it.
const gamePath = "/game/"

// newGatherer returns what collects the metrics of the server and of the game.
func (c Config) newGatherer() (prometheus.Gatherer, error) {
	own, game := prometheus.NewRegistry(), prometheus.NewRegistry()
	own.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{c}, c.Timings)
	for i, each := range c.Collectors {
		if err := game.Register(gameCollector{each}); err != nil {
			return nil, fmt.Errorf("server: Collectors[%d]: %w", i, err)
		}
	}
	return prometheus.Gatherers{own, game}, nil
}

// gameCollector is a collector of the game, whose panics fail only its own metrics.
type gameCollector struct{ prometheus.Collector }

// Collect implements prometheus.Collector.
func (c gameCollector) Collect(out chan<- prometheus.Metric) {
	defer func() {
		if value := recover(); value != nil {
			err := fmt.Errorf("a collector of the game panicked: %v", value)
			out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		}
	}()
	c.Collector.Collect(out)
}

// metricsLog logs the errors of a scrape, which has the other metrics.
type metricsLog struct{ log *zap.Logger }

// Println implements promhttp.Logger.
func (l metricsLog) Println(v ...any) { l.log.Warn("metrics are missing: " + fmt.Sprint(v...)) }
