package manual

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"mailer/app/kit/metrics"
)

// answer is a GET of /metrics where there is something of everything.
func answer(t *testing.T) string {
	t.Helper()
	m := metrics.New()
	m.Watch(func(context.Context) (metrics.State, error) {
		return metrics.State{Relays: []metrics.Relay{{Name: "us-east-1"}}, Waiting: []metrics.Waiting{{Relay: "us-east-1", Reason: "due", Count: 1}},
			Active: []metrics.Active{{Region: "us-east-1", Relay: "us-east-1/b", Active: true}}, Listings: []metrics.Listing{{List: "zen.example", Address: "192.0.2.1"}}, LastBackup: time.Now()}, nil
	})
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// series are the names of all that an answer has.
func series(answer string) []string {
	var names []string
	for _, line := range strings.Split(answer, "\n") {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		if name != "" && name != "#" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

var metricName = regexp.MustCompile(`\b(mailer|process|go)_[a-z_]+`)

// unknown are the metrics that expressions name and no answer has.
func unknown(known []string, expressions ...string) (names []string) {
	for _, e := range expressions {
		for _, name := range metricName.FindAllString(e, -1) {
			if !slices.Contains(known, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUnknownMetric(t *testing.T) {
	known := series(answer(t))
	if got := unknown(known, `rate(mailer_nothing_total{relay="x"}[5m]) > mailer_relay_up`); !slices.Equal(got, []string{"mailer_nothing_total"}) {
		t.Errorf("%q", got)
	}
}

func TestAlertRulesNameKnownMetrics(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(read(t, "alerts.yml"))))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil || len(file.Groups) != 1 {
		t.Fatalf("%d groups, %v", len(file.Groups), err)
	}
	known := series(answer(t))
	var alerts []string
	for _, r := range file.Groups[0].Rules {
		if slices.Contains(alerts, r.Alert) || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["help"] == "" {
			t.Errorf("%s is there twice, or lacks its severity, its summary or its help", r.Alert)
		}
		if _, err := time.ParseDuration(r.For); err != nil && r.For != "" {
			t.Errorf("%s: %v", r.Alert, err)
		}
		if !metricName.MatchString(r.Expr) && r.Alert != "MailerDown" {
			t.Errorf("%s names no metric: %s", r.Alert, r.Expr)
		}
		if names := unknown(known, r.Expr); len(names) > 0 {
			t.Errorf("%s names %q, which are not there", r.Alert, names)
		}
		alerts = append(alerts, r.Alert)
	}
	for _, want := range []string{"MailerRelayDown", "MailerMailWaitsTooLong", "MailerDiskLow", "MailerWALBig", "MailerBouncesHigh", "MailerDoubtsGrow", "MailerWebhooksFail", "MailerBackupOld"} {
		if !slices.Contains(alerts, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestGrafanaDashboardNamesKnownMetrics(t *testing.T) {
	var board struct {
		UID, Title string
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ H, W, X, Y int }
			Targets     []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	if err := json.Unmarshal(read(t, "grafana.json"), &board); err != nil || board.UID == "" {
		t.Fatal(err)
	}
	known := series(answer(t))
	var all strings.Builder
	for i, p := range board.Panels {
		if p.ID != i+1 || p.Title == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d: %+v", i, p)
		}
		for _, target := range p.Targets {
			if names := unknown(known, target.Expr); len(names) > 0 || !metricName.MatchString(target.Expr) {
				t.Errorf("%s: %q are not there: %s", p.Title, names, target.Expr)
			}
			all.WriteString(target.Expr + "\n")
		}
	}
	for _, f := range metrics.Families() {
		if !strings.Contains(all.String(), f.Name) {
			t.Errorf("no panel shows %s", f.Name)
		}
	}
	for _, v := range board.Templating.List {
		if names := unknown(known, v.Query); len(names) > 0 {
			t.Errorf("variable %s: %q are not there", v.Name, names)
		}
	}
}

func TestManualListsMetrics(t *testing.T) {
	manual := string(read(t, "metrics.md"))
	_, section, _ := strings.Cut(manual, "\n## All metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := regexp.MustCompile("`(mailer_[a-z_]+)`").FindAllStringSubmatch(section, -1)
	var known []string
	for _, f := range metrics.Families() {
		known = append(known, f.Name)
		if !strings.Contains(section, "`"+f.Name+"`") {
			t.Errorf("the manual does not tell of %s", f.Name)
		}
	}
	for _, m := range listed {
		if !slices.Contains(known, m[1]) {
			t.Errorf("the manual tells of %s, which is not there", m[1])
		}
	}
}

// promtool is Prometheus' own checker (Debian package prometheus).
func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("promtool is not there")
		}
		t.Skip("NOT TESTED: promtool is not there")
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
}

func TestPromtoolAcceptsRules(t *testing.T) { promtool(t, "", "check", "rules", "alerts.yml") }

// What the library says of the process and of Go's runtime has no help, which promtool
// does not like.
func TestPromtoolAcceptsMetrics(t *testing.T) {
	own, _, _ := strings.Cut(answer(t), "\ngo_")
	promtool(t, own+"\n", "check", "metrics")
}

// TestSharedQueueIsCountedOnce: each server reports the whole queue.
func TestSharedQueueIsCountedOnce(t *testing.T) {
	once := regexp.MustCompile(`max by \([a-z, ]+\) \((deriv\()?mailer_queue_waiting`)
	for _, name := range []string{"alerts.yml", "grafana.json"} {
		text := string(read(t, name))
		if all, sound := strings.Count(text, "mailer_queue_waiting"), len(once.FindAllString(text, -1)); all == 0 || all != sound {
			t.Errorf("%s: %d of %d take the greatest of all servers", name, sound, all)
		}
	}
}
