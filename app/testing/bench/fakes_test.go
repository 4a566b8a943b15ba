package bench

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/emersion/go-smtp"
)

// Fakes of programs that a machine may not have, with just what the benchmark uses. The test
// binary is all of them; fakeVariable selects one.
const fakeVariable = "MAILER_BENCH_FAKE"

var fakes = map[string]func(){
	"maddy":            func() { fakeEnd(fakeMaddy()) },
	"listmonk":         func() { fakeEnd(fakeListmonk(false)) },
	"unsound listmonk": func() { fakeEnd(fakeListmonk(true)) },
}

// runFake reports whether this process ran as a fake.
func runFake() bool {
	run := fakes[os.Getenv(fakeVariable)]
	if run == nil {
		return false
	}
	if last := os.Args[len(os.Args)-1]; strings.TrimLeft(last, "-") == "version" {
		fmt.Println("a fake")
		return true
	}
	run()
	return true
}

func fakeEnd(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// configured returns the value after some words in the file that --config names.
func configured(words string) string {
	for i, arg := range os.Args[:len(os.Args)-1] {
		if arg != "--config" {
			continue
		}
		text, _ := os.ReadFile(os.Args[i+1]) // empty without a file
		found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(words) + `"?([^"\s]+)`).FindSubmatch(text)
		if found != nil {
			return string(found[1])
		}
	}
	return ""
}

// fakeMaddy accepts mail, signs it with the given key and forwards it before it replies.
func fakeMaddy() error {
	if os.Args[len(os.Args)-1] != "run" {
		return errors.New("fake maddy: not told to run")
	}
	next := configured("targets tcp://")
	signing := dkim.SignOptions{Domain: configured("domains "), Selector: configured("selector "),
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed}
	if path := configured("key_path "); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(text)
		if signing.Signer, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			return err
		}
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		onward, err := smtp.Dial(next)
		return &relaySession{next: onward, signing: signing}, err
	}))
	server.Addr = configured("smtp tcp://")
	return server.ListenAndServe()
}

// relaySession is a connection with its own connection to the next server.
type relaySession struct {
	next    *smtp.Client
	signing dkim.SignOptions
	from    string
	to      []string
}

func (s *relaySession) Mail(from string, _ *smtp.MailOptions) error {
	s.from, s.to = from, nil
	return nil
}

func (s *relaySession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

func (s *relaySession) Data(r io.Reader) error {
	if s.signing.Signer == nil {
		return s.next.SendMail(s.from, s.to, r)
	}
	var signed bytes.Buffer
	if err := dkim.Sign(&signed, r, &s.signing); err != nil {
		return err
	}
	return s.next.SendMail(s.from, s.to, &signed)
}

func (s *relaySession) Reset()        {}
func (s *relaySession) Logout() error { return s.next.Quit() }

// fakeListmonk stores its settings in PostgreSQL, as listmonk does, and the recipients in a file.
// With faulty it loses one message and sends one twice.
func fakeListmonk(unsound bool) error {
	f := &listmonkFake{faulty: unsound, file: configured("database = ") + ".csv", status: "draft"}
	if os.Args[len(os.Args)-1] == "--yes" {
		return f.install()
	}
	if err := f.load(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /api/lists":                 func(*http.Request) (any, error) { return map[string]any{"results": []int{}}, nil },
		"POST /api/lists":                func(*http.Request) (any, error) { return fakeObject(3, "Everybody"), nil },
		"POST /api/import/subscribers":   f.take,
		"GET /api/import/subscribers":    f.accepted,
		"POST /api/templates":            func(*http.Request) (any, error) { return []any{fakeObject(1, "Other"), fakeObject(5, "Nothing")}, nil },
		"POST /api/campaigns":            f.draft,
		"PUT /api/campaigns/{id}/status": f.begin,
		"GET /api/campaigns/{id}":        f.state,
	} {
		mux.HandleFunc(pattern, f.handler(answer))
	}
	return http.ListenAndServe(configured("address = "), mux)
}

func fakeObject(id int, name string) map[string]any { return map[string]any{"id": id, "name": name} }

type listmonkFake struct {
	faulty bool
	file   string
	token  string
	smtp   []struct {
		Host     string
		Port     int
		MaxConns int `json:"max_conns"`
	}

	mu       sync.Mutex
	status   string
	campaign struct {
		Subject, Body string
		Lists         []int
		TemplateID    int `json:"template_id"`
	}
}

func (f *listmonkFake) query(statement string) (string, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return "", err
	}
	return query(bin, configured("host = "), configured("port = "), statement)
}

func (f *listmonkFake) install() error {
	if os.Getenv("LISTMONK_ADMIN_API_USER") == "" {
		return errors.New("fake listmonk: no user of the API")
	}
	_, err := f.query(`CREATE TABLE settings (key TEXT PRIMARY KEY, value JSONB NOT NULL);
		INSERT INTO settings SELECT unnest(ARRAY['smtp', 'app.concurrency', 'app.message_rate', 'app.batch_size',
			'app.check_updates', 'app.notify_emails', 'app.root_url', 'token']), '"12345678"'`)
	fmt.Fprintln(os.Stderr, `export LISTMONK_ADMIN_API_TOKEN="12345678"`)
	return err
}

func (f *listmonkFake) load() error {
	servers, err := f.query("SELECT value FROM settings WHERE key = 'smtp'")
	if err != nil {
		return err
	}
	f.token, err = f.query("SELECT value ->> 0 FROM settings WHERE key = 'token'")
	return errors.Join(err, json.Unmarshal([]byte(servers), &f.smtp))
}

// handler answers requests with the token.
func (f *listmonkFake) handler(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.Header.Get("Authorization") != "token bench:"+f.token {
			http.Error(w, "no such user", http.StatusForbidden)
			return
		}
		data, err := answer(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data}) // the client may be gone
	}
}

func (f *listmonkFake) take(r *http.Request) (any, error) {
	if !strings.Contains(r.FormValue("params"), `"lists":[3]`) {
		return nil, errors.New("into which list?")
	}
	file, _, err := r.FormFile("file")
	if err != nil {
		return nil, err
	}
	rows, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return map[string]any{"status": "importing"}, os.WriteFile(f.file, rows, 0o600)
}

func (f *listmonkFake) subscribers() ([][]string, error) {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 || strings.Join(rows[0], " ") != "email name" {
		return nil, cmp.Or(err, errors.New("no subscribers"))
	}
	return rows[1:], nil
}

func (f *listmonkFake) accepted(*http.Request) (any, error) {
	rows, err := f.subscribers()
	return map[string]any{"status": "finished", "imported": len(rows)}, err
}

func (f *listmonkFake) draft(r *http.Request) (any, error) {
	if err := json.NewDecoder(r.Body).Decode(&f.campaign); err != nil {
		return nil, err
	}
	if f.campaign.TemplateID != 5 || len(f.campaign.Lists) != 1 || f.campaign.Lists[0] != 3 {
		return nil, errors.New("no such template or list")
	}
	return fakeObject(7, "Letter"), nil
}

func (f *listmonkFake) begin(r *http.Request) (any, error) {
	rows, err := f.subscribers()
	if err != nil || r.PathValue("id") != "7" {
		return nil, cmp.Or(err, errors.New("no such campaign"))
	}
	if f.faulty {
		rows[1] = rows[0]
		rows = append(rows, rows[2])
	}
	f.status = "running"
	go f.sendTo(rows)
	return f.state(r)
}

func (f *listmonkFake) state(*http.Request) (any, error) {
	return map[string]any{"id": 7, "status": f.status}, nil
}

// sendTo sends to all recipients over the allowed number of connections.
func (f *listmonkFake) sendTo(rows [][]string) {
	work := make(chan []string)
	var wg sync.WaitGroup
	for range f.smtp[0].MaxConns {
		wg.Go(func() { fakeEnd(f.sendSome(work)) })
	}
	for _, row := range rows {
		work <- row
	}
	close(work)
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = "finished"
}

func (f *listmonkFake) sendSome(work <-chan []string) error {
	c, err := smtp.Dial(net.JoinHostPort(f.smtp[0].Host, fmt.Sprint(f.smtp[0].Port)))
	if err != nil {
		return err
	}
	for row := range work {
		fill := strings.NewReplacer("{{ .Subscriber.Name }}", row[1], "{{ UnsubscribeURL }}", "http://127.0.0.1/"+row[1], "\n", "\r\n")
		text := fill.Replace("From: " + broadcastFrom + "\nSubject: " + f.campaign.Subject + "\n\n" + f.campaign.Body)
		if err := c.SendMail("news@example.com", row[:1], strings.NewReader(text)); err != nil {
			return err
		}
	}
	return c.Quit()
}
