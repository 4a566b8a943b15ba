package stats

import (
	"slices"
	"strings"

	"mailer/app/rules/counters"
)

// Metric is the name of a metric.
type Metric string

// metrics are all metrics in the order of answers.
var metrics = []struct {
	name Metric
	of   func(t *counters.Tally) float64
}{
	{"received", func(*counters.Tally) float64 { return 0 }}, // received mail is not counted here
	{"delivered", func(t *counters.Tally) float64 { return float64(t.Delivered) }},
	{"complained", func(t *counters.Tally) float64 { return float64(t.Complained) }},
	{"suppressed", func(t *counters.Tally) float64 { return float64(t.Suppressed) }},
	{"bounced", func(t *counters.Tally) float64 { return float64(t.Bounced()) }},
	{"bounced_transient", func(t *counters.Tally) float64 { return float64(t.BouncedTransient) }},
	{"bounced_permanent", func(t *counters.Tally) float64 { return float64(t.BouncedPermanent) }},
	{"bounced_undetermined", func(t *counters.Tally) float64 { return float64(t.BouncedUndetermined) }},
	{"opened", func(t *counters.Tally) float64 { return float64(t.Opened) }},
	{"clicked", func(t *counters.Tally) float64 { return float64(t.Clicked) }},
	{"unsubscribed", func(t *counters.Tally) float64 { return float64(t.Unsubscribed) }},
	{"delivery_delayed", func(t *counters.Tally) float64 { return float64(t.DeliveryDelayed) }},
	{"failed", func(t *counters.Tally) float64 { return float64(t.Failed) }},
	{"sent", func(t *counters.Tally) float64 { return float64(t.Sent) }},
	{"unique_opened", func(t *counters.Tally) float64 { return float64(t.UniqueOpened) }},
	{"unique_clicked", func(t *counters.Tally) float64 { return float64(t.UniqueClicked) }},
	{"delivery_rate", func(t *counters.Tally) float64 { return part(t.Delivered, t.Sent) }},
	{"open_rate", func(t *counters.Tally) float64 { return part(t.UniqueOpened, arrived(t)) }},
	{"click_rate", func(t *counters.Tally) float64 { return part(t.UniqueClicked, arrived(t)) }},
	{"bounce_rate", func(t *counters.Tally) float64 { return part(t.Bounced(), t.Sent) }},
	{"complaint_rate", func(t *counters.Tally) float64 { return part(t.Complained, arrived(t)) }},
	{"unsubscribe_rate", func(t *counters.Tally) float64 { return part(t.Unsubscribed, arrived(t)) }},
}

// Metrics returns the names of all metrics in order.
func Metrics() []Metric {
	names := make([]Metric, len(metrics))
	for i := range metrics {
		names[i] = metrics[i].name
	}
	return names
}

func metricNames() string {
	var names []string
	for _, m := range metrics {
		names = append(names, string(m.name))
	}
	return strings.Join(names, ", ")
}

// arrived returns how many recipients have the mail, as far as is known: the delivered ones, or,
// if the relay reports no deliveries, the accepted ones that did not bounce.
func arrived(t *counters.Tally) int64 { return max(t.Delivered, t.Sent-t.Bounced()) }

// part returns n/of, 0 for of = 0.
func part(n, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// valuesOf returns the requested metrics.
func valuesOf(t *counters.Tally, names []Metric) map[Metric]float64 {
	values := make(map[Metric]float64, len(names))
	for i := range metrics {
		if slices.Contains(names, metrics[i].name) {
			values[metrics[i].name] = metrics[i].of(t)
		}
	}
	return values
}
