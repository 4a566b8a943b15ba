package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"mailer/app/kit/clock"
)

// text returns all metrics in Prometheus' text format. For a nil state it leaves out the state's
// families: a zero would be wrong.
func (m *Metrics) text(state *State) []byte {
	shown := map[string]*bytes.Buffer{}
	for _, c := range m.counted {
		shown[c.name] = &bytes.Buffer{}
	}
	if state != nil {
		for _, r := range state.Relays { // present from the start: a rate needs a first value of zero
			for _, result := range Results() {
				m.Result(r.Name, result, 0)
			}
		}
		for _, a := range state.Active {
			m.Switch(a.Region, 0)
		}
		state.write(shown, clock.Now())
	}
	for _, c := range m.counted {
		c.set.WritePrometheus(shown[c.name])
	}
	var out bytes.Buffer
	for _, f := range Families() {
		if b := shown[f.Name]; b != nil && b.Len() > 0 {
			fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Type)
			out.Write(b.Bytes())
		}
	}
	vm.WriteProcessMetrics(&out)
	vm.WriteFDMetrics(&out)
	return out.Bytes()
}

// write adds the families of the state.
func (s *State) write(shown map[string]*bytes.Buffer, now time.Time) {
	put := func(family string, v float64, labels ...string) {
		b := shown[family]
		if b == nil {
			b = &bytes.Buffer{}
			shown[family] = b
		}
		b.WriteString(series(family, labels...) + " " + strconv.FormatFloat(v, 'f', -1, 64) + "\n") // without an exponent
	}
	for _, w := range s.Waiting {
		put(nameWaiting, float64(w.Count), "relay", w.Relay, "reason", w.Reason)
	}
	for _, r := range s.Relays {
		put(nameOldest, r.Oldest.Seconds(), "relay", r.Name)
		put(nameUp, zeroOrOne(r.Up), "relay", r.Name)
	}
	for _, a := range s.Active {
		put(nameActive, zeroOrOne(a.Active), "region", a.Region, "relay", a.Relay)
	}
	for _, l := range s.Listings {
		put(nameListed, zeroOrOne(l.Listed), "list", l.List, "address", l.Address)
	}
	put(nameDB, float64(s.DB))
	put(nameWAL, float64(s.WAL))
	put(nameImages, float64(s.Images))
	put(nameStored, float64(s.Received))
	put(nameRuns, float64(s.OpenRuns))
	put(nameDiskFree, float64(s.DiskFree))
	if !s.LastBackup.IsZero() {
		put(nameBackupAge, now.Sub(s.LastBackup).Seconds())
	}
}

func zeroOrOne(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
