package bench

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// report collects the rounds and prints them: a line at the end of each, and finally a Markdown
// table of medians.
type report struct {
	out      io.Writer
	start    time.Time
	outcomes map[string][]outcome // by contender's name
	bounds   []limits

	accepted           float64
	queued             int
	loading, restarted float64
}

func newReport(out io.Writer) *report {
	return &report{out: out, start: time.Now(), outcomes: map[string][]outcome{}}
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

func (r *report) head(c *contest, rounds int) {
	r.printf("%d rounds of %d messages of %d bytes, %d connections to each peer and to the sink; Postfix %s, %s%s; %s\n",
		rounds, c.messages, len(c.sample), connections, answer("postconf", "-h", "mail_version"), answer("opendkim", "-V"),
		versionOf(maddyVariable, "version"), surroundings(c.tb, c.dir))
}

// versionOf returns a program's version, after a comma.
func versionOf(variable, command string) string {
	path := os.Getenv(variable)
	if path == "" {
		return ""
	}
	return ", " + filepath.Base(path) + " " + answer(path, command)
}

// surroundings describes the environment that figures depend on.
func surroundings(tb testing.TB, dir string) string {
	return fmt.Sprintf("%d cores, %s, kernel %s; queues and databases on %s; processor time from %s",
		runtime.NumCPU(), runtime.Version(), answer("uname", "-r"), fileSystem(dir), newGroup(tb).method())
}

// answer returns the first line of a program's output.
func answer(program string, args ...string) string {
	out, _ := exec.Command(program, args...).CombinedOutput() // no output if the program is missing
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

func (r *report) limits(l limits) {
	r.bounds = append(r.bounds, l)
	r.printf("%4.0f s  limits: %.0f fsyncs/s, %.0f RSA-2048 signatures/s at %d us of processor time\n",
		time.Since(r.start).Seconds(), l.syncs, l.signing, l.each.Microseconds())
}

func (r *report) outcome(who contender, o outcome) {
	r.outcomes[who.name] = append(r.outcomes[who.name], o)
	r.printf("%4.0f s  %-18s  %5.0f messages/s, CPU %.2f s/1000 (load and sink %.2f), %.0f MB, accepted in %s, arrived in %s, at %d/s in %s and %s;%s\n",
		time.Since(r.start).Seconds(), who.name, o.rate, o.cpu.Seconds()*1000, o.harness.Seconds()*1000, o.memory,
		o.busy.accepted, o.busy.arrived, lowRate, o.lowRate.accepted, o.lowRate.arrived, shares(o.programs))
}

func (p percentiles) String() string {
	return fmt.Sprintf("%s / %s ms", milliseconds(p.p50), milliseconds(p.p99))
}

func milliseconds(d time.Duration) string {
	ms := d.Seconds() * 1000
	return fmt.Sprintf("%.*f", map[bool]int{true: 1}[ms < 10], ms)
}

// shares lists the processor time by program, largest first, without ended processes.
func shares(programs map[string]time.Duration) string {
	var sum time.Duration
	for _, used := range programs {
		sum += used
	}
	names := slices.SortedFunc(maps.Keys(programs), func(a, b string) int { return cmp.Compare(programs[b], programs[a]) })
	var b strings.Builder
	for _, name := range names {
		if share := 100 * programs[name].Seconds() / max(sum.Seconds(), 1e-9); share >= 0.5 {
			fmt.Fprintf(&b, " %s %.0f %%", name, share)
		}
	}
	return b.String()
}

func (r *report) accepts(rate float64) {
	r.accepted = rate
	r.printf("%4.0f s  %.0f durable accepts/s from 64 clients\n", time.Since(r.start).Seconds(), rate)
}

func (r *report) queue(n int, loading, restarted float64) {
	r.queued, r.loading, r.restarted = n, loading, restarted
	r.printf("%4.0f s  %d queued: %.0f MB at the peak, after a restart %.0f MB\n", time.Since(r.start).Seconds(), n, loading, restarted)
}

// median returns the median of of(x) over all x.
func median[T any](all []T, of func(T) float64) float64 {
	values := sortedBy(all, of)
	if len(values) == 0 {
		return 0
	}
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func sortedBy[T any](all []T, of func(T) float64) []float64 {
	values := make([]float64, 0, len(all))
	for _, v := range all {
		values = append(values, of(v))
	}
	slices.Sort(values)
	return values
}

// The columns of the table.
func rateOf(o outcome) float64    { return o.rate }
func cpuOf(o outcome) float64     { return o.cpu.Seconds() * 1000 }
func memoryOf(o outcome) float64  { return o.memory }
func harnessOf(o outcome) float64 { return o.harness.Seconds() * 1000 }
func eachOf(l limits) float64     { return l.each.Seconds() * 1000 }
func signingOf(l limits) float64  { return l.signing }
func syncsOf(l limits) float64    { return l.syncs }

func (r *report) table() {
	for _, p := range r.pairs() {
		r.printf("\n")
		r.compare(p.title, p.mailer, p.other)
	}
	if len(r.bounds) > 0 {
		r.compareSideBySide()
	}
	r.printf("\n%.0f s in all\n", time.Since(r.start).Seconds())
}

// pair is two contenders to compare.
type pair struct{ title, mailer, other, metric string }

func (r *report) pairs() []pair {
	all := []pair{
		{"Signed", "Mailer, DKIM", "Postfix + OpenDKIM", "signed"},
		{"Unsigned", "Mailer", "Postfix", "unsigned"},
		{"Signed", "Mailer, DKIM", "maddy, DKIM", "maddy-signed"},
		{"Unsigned", "Mailer", "maddy", "maddy-unsigned"},
	}
	return slices.DeleteFunc(all, func(p pair) bool {
		return strings.HasPrefix(p.other, "maddy") && len(r.outcomes[p.other]) == 0
	})
}

func (r *report) compareSideBySide() {
	r.printf("\n| Beside, in the same run | |\n|---|---|\n")
	r.printf("| RSA-2048 signatures a second (Go), all cores | %.0f, %.2f ms of CPU each |\n", median(r.bounds, signingOf), median(r.bounds, eachOf))
	r.printf("| fsyncs a second, one after the other | %.0f |\n", median(r.bounds, syncsOf))
	r.printf("| Mailer's CPU for a signed email / for its signature alone | %.2f |\n", r.signingShare())
	if r.queued > 0 {
		r.printf("| durable accepts a second, 64 clients, sending meanwhile | %.0f |\n", r.accepted)
		r.printf("| memory at its peak with %d queued, taking them in / after a restart | %.0f / %.0f MB |\n", r.queued, r.loading, r.restarted)
	}
}

// compare prints the table of two contenders. The last column is the median of the rounds' ratios:
// neighbours in time share the load of the machine.
func (r *report) compare(title, mailer, other string) {
	ours, theirs := r.outcomes[mailer], r.outcomes[other]
	r.printf("| %s, medians of %d rounds (least to most) | Mailer | %s | ratio |\n|---|---|---|---|\n", title, len(ours), other)
	row := func(what, format string, of func(outcome) float64) { r.row(mailer, other, what, format, of) }
	row("messages a second, first request to last arrival", "%.0f", rateOf)
	row("CPU seconds for 1,000 messages", "%.2f", cpuOf)
	row("memory at its peak, MB", "%.0f", memoryOf)
	row("CPU seconds of load and sink for 1,000", "%.2f", harnessOf)
	delay := func(what string, of func(outcome) percentiles) {
		r.printf("| %s, p50 / p99 | %s | %s | |\n", what, typicalRange(ours, of), typicalRange(theirs, of))
	}
	delay(fmt.Sprintf("accepted after, at %d messages a second", lowRate), func(o outcome) percentiles { return o.lowRate.accepted })
	delay(fmt.Sprintf("arrived after, at %d messages a second", lowRate), func(o outcome) percentiles { return o.lowRate.arrived })
	delay("accepted after, all messages offered at once", func(o outcome) percentiles { return o.busy.accepted })
	delay("arrived after, all messages offered at once", func(o outcome) percentiles { return o.busy.arrived })
}

func (r *report) row(mailer, other, what, format string, of func(outcome) float64) {
	r.printf("| %s | %s | %s | %.2f |\n", what, spanOf(r.outcomes[mailer], format, of), spanOf(r.outcomes[other], format, of), r.ratio(mailer, other, of))
}

func spanOf(all []outcome, format string, of func(outcome) float64) string {
	values := sortedBy(all, of)
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", median(all, of), values[0], values[len(values)-1])
}

func typicalRange(all []outcome, of func(outcome) percentiles) percentiles {
	return percentiles{
		time.Duration(median(all, func(o outcome) float64 { return float64(of(o).p50) })),
		time.Duration(median(all, func(o outcome) float64 { return float64(of(o).p99) })),
	}
}

// ratio returns the median of the rounds' ratios.
func (r *report) ratio(mailer, other string, of func(outcome) float64) float64 {
	ours, theirs := r.outcomes[mailer], r.outcomes[other]
	var ratios []float64
	for i := range min(len(ours), len(theirs)) {
		ratios = append(ratios, of(ours[i])/of(theirs[i]))
	}
	return median(ratios, func(f float64) float64 { return f })
}

// signingShare returns the cost of a signed email in signatures.
func (r *report) signingShare() float64 {
	return median(r.outcomes["Mailer, DKIM"], cpuOf) / median(r.bounds, eachOf)
}

func (r *report) metrics(b *testing.B) {
	for _, p := range r.pairs() {
		b.ReportMetric(r.ratio(p.mailer, p.other, rateOf), p.metric+"-x-rate")
		b.ReportMetric(r.ratio(p.mailer, p.other, cpuOf), p.metric+"-x-cpu")
	}
	b.ReportMetric(r.signingShare(), "cpu-x-signing")
}
