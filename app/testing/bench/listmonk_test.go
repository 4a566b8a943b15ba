package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// listmonkVariable names the environment variable with the path of listmonk 5 or newer for
// BenchmarkVersusListmonk. Without it the benchmark is skipped.
const listmonkVariable = "MAILER_BENCH_LISTMONK"

// listmonk is a running listmonk with its own PostgreSQL.
type listmonk struct {
	*programs
	database *postgres
	path     string
	addr     string
	token    string
	list     int
	campaign int
}

// listmonkUser is the API user of the benchmark.
const listmonkUser = "bench"

// listmonk installs a listmonk with subscribers and the sink as its relay. It is restarted after
// the import, whose memory does not count.
func (c *contest) listmonk(g *group) sender {
	c.tb.Helper()
	path, err := programFrom(listmonkVariable)
	must(c.tb, err)
	l := &listmonk{programs: newPrograms(c.tb, g, c.dir, "listmonk"), path: path, addr: freeAddr(c.tb)}
	l.database = startPostgres(l.programs)
	l.install()
	l.settings(c.sink.addr())
	l.serve()
	l.fill(c.messages)
	l.end()
	l.serve()
	return l
}

// listmonkConf is listmonk's configuration file; other settings are in its database.
const listmonkConf = `[app]
address = "ADDR"

[db]
host = "HOST"
port = PORT
user = "postgres"
password = "none"
database = "postgres"
ssl_mode = "disable"
max_open = 25
max_idle = 25
max_lifetime = "1h"
`

var listmonkToken = regexp.MustCompile(`LISTMONK_ADMIN_API_TOKEN="?([^"\s]+)`)

// install creates the tables and an API user, and returns the printed token.
func (l *listmonk) install() {
	l.tb.Helper()
	conf := strings.NewReplacer("ADDR", l.addr, "HOST", l.database.host, "PORT", l.database.port).Replace(listmonkConf)
	must(l.tb, os.WriteFile(l.dir+"/config.toml", []byte(conf), 0o600))
	l.run(l.add([]string{"LISTMONK_ADMIN_USER=admin", "LISTMONK_ADMIN_PASSWORD=not-a-secret", "LISTMONK_ADMIN_API_USER=" + listmonkUser},
		l.path, "--config", l.dir+"/config.toml", "--install", "--yes"))
	printed, err := os.ReadFile(l.dir + "/output")
	must(l.tb, err)
	found := listmonkToken.FindSubmatch(printed)
	if found == nil {
		l.tb.Fatalf("%s=%s: --install prints no token of the API\n%s", listmonkVariable, l.path, l.log())
	}
	l.token = string(found[1])
}

// settings configures as many connections as Mailer has, no rate limit, large batches, only the
// sink as server, and no update checks or notifications.
func (l *listmonk) settings(next string) {
	l.tb.Helper()
	host, port, err := net.SplitHostPort(next)
	must(l.tb, err)
	number, err := strconv.Atoi(port)
	must(l.tb, err)
	for key, value := range map[string]any{
		"app.concurrency": connections, "app.message_rate": 10_000, "app.batch_size": 10_000,
		"app.check_updates": false, "app.notify_emails": []string{}, "app.root_url": "http://" + l.addr,
		"smtp": []map[string]any{{"uuid": "00000000-0000-4000-8000-000000000000", "enabled": true, "host": host, "port": number,
			"auth_protocol": "none", "username": "", "password": "", "hello_hostname": "listmonk.example.com", "email_headers": []string{},
			"max_conns": connections, "max_msg_retries": 2, "idle_timeout": "15s", "wait_timeout": "5s",
			"tls_type": "none", "tls_skip_verify": false}},
	} {
		text, err := json.Marshal(value)
		must(l.tb, err)
		did, err := l.database.query(fmt.Sprintf("UPDATE settings SET value = '%s' WHERE key = '%s'", text, key))
		must(l.tb, err)
		if did != "UPDATE 1" {
			l.tb.Fatalf("%s=%s has no setting %s: %s", listmonkVariable, l.path, key, did)
		}
	}
}

func (l *listmonk) serve() {
	l.tb.Helper()
	l.launch(l.add(nil, l.path, "--config", l.dir+"/config.toml"))
	l.await("listmonk answers", func() error {
		r, err := http.NewRequest("GET", "http://"+l.addr+"/api/lists?per_page=1", http.NoBody)
		must(l.tb, err)
		r.Header.Set("Authorization", l.authorization())
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
}

func (l *listmonk) authorization() string { return "token " + listmonkUser + ":" + l.token }

// call makes a request and reads the data of its answer.
func (l *listmonk) call(method, path, contentType string, body io.Reader, data any) {
	l.tb.Helper()
	answer := struct{ Data any }{data}
	call(l.tb, method, "http://"+l.addr+"/api"+path, l.authorization(), contentType, body, &answer)
}

// create posts an object with a name and returns its id. Some answers are the object, others a
// list with it.
func (l *listmonk) create(path string, object map[string]any) int {
	l.tb.Helper()
	body, err := json.Marshal(object)
	must(l.tb, err)
	var answer json.RawMessage
	l.call("POST", path, "application/json", bytes.NewReader(body), &answer)
	if !bytes.HasPrefix(answer, []byte("[")) {
		answer = fmt.Appendf(nil, "[%s]", answer)
	}
	var made []struct {
		ID   int
		Name string
	}
	must(l.tb, json.Unmarshal(answer, &made))
	for _, m := range made {
		if m.Name == object["name"] {
			return m.ID
		}
	}
	l.tb.Fatalf("listmonk's answer to POST %s: %s", path, answer)
	return 0
}

// fill imports n subscribers.
func (l *listmonk) fill(n int) {
	l.tb.Helper()
	l.list = l.create("/lists", map[string]any{"name": "Everybody", "type": "private", "optin": "single"})
	params := fmt.Sprintf(`{"mode":"subscribe","subscription_status":"confirmed","delim":",","lists":[%d],"overwrite":true}`, l.list)
	body, contentType := upload(l.tb, recipientRows("name", n), params)
	var progress struct {
		Status   string
		Imported int
	}
	l.call("POST", "/import/subscribers", contentType, bytes.NewReader(body), &progress)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for progress.Status != "finished" {
		if progress.Status == "failed" {
			l.tb.Fatalf("listmonk's import fails\n%s", l.log())
		}
		<-tick.C
		l.call("GET", "/import/subscribers", "", http.NoBody, &progress)
	}
	if progress.Imported != n {
		l.tb.Fatalf("listmonk imported %d of %d subscribers\n%s", progress.Imported, n, l.log())
	}
}

// send starts a campaign with the content only: a template would add nothing.
func (l *listmonk) send() {
	l.tb.Helper()
	template := l.create("/templates", map[string]any{"name": "Nothing", "type": "campaign", "body": `{{ template "content" . }}`})
	l.campaign = l.create("/campaigns", map[string]any{"name": "Letter", "type": "regular", "content_type": "html", "messenger": "email",
		"lists": []int{l.list}, "template_id": template, "from_email": broadcastFrom,
		"subject": "Hello {{ .Subscriber.Name }}", "body": newsletterHTML("{{ .Subscriber.Name }}", "{{ UnsubscribeURL }}")})
	var state json.RawMessage // not needed
	l.call("PUT", fmt.Sprintf("/campaigns/%d/status", l.campaign), "application/json", strings.NewReader(`{"status":"running"}`), &state)
}

func (l *listmonk) finished() bool {
	l.tb.Helper()
	var state struct{ Status string }
	l.call("GET", fmt.Sprintf("/campaigns/%d", l.campaign), "", http.NoBody, &state)
	if state.Status == "paused" || state.Status == "cancelled" {
		l.tb.Fatalf("listmonk's campaign is %s\n%s", state.Status, l.log())
	}
	return state.Status == "finished"
}

// peak is the sampled peak memory.
func (l *listmonk) peak(sampled float64) float64 { return sampled }
