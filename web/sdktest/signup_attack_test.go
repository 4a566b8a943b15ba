package sdktest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var attacks = flag.Int("attacks", 0, "how many hostile submissions the attack on a sign-up form has; 0: 10000 in a minute")

// Promises for a form under attack, beside 200 mails a second of another team.
const (
	formsPerHour   = 60  // confirmations of a form
	attackGrowth   = 50  // MiB
	attackRate     = 167 // submissions a second: 100,000 in ten minutes
	attackRanges   = 5000
	neighbourSends = 200 // a second
	honestSignUps  = 20
)

// signUpForm is a form of a team.
type signUpForm struct {
	at string // URL of the server, or of what is in front of several
	id string
}

// newForm makes a form, which offers topics.
func newForm(t *testing.T, at string, api client, topics ...string) *signUpForm {
	t.Helper()
	offered := []map[string]any{}
	for _, id := range topics {
		offered = append(offered, map[string]any{"id": id})
	}
	body := map[string]any{"name": "Newsletter", "from": "News <news@example.test>", "topics": offered}
	var made struct{ ID string }
	status, b := api.do(t, "POST", "/forms", body)
	if status != http.StatusCreated || json.Unmarshal(b, &made) != nil {
		t.Fatalf("POST /forms: %d %s", status, b)
	}
	return &signUpForm{at, made.ID}
}

// proof gets a challenge as a visitor and solves it.
func (f *signUpForm) proof(ip string) (string, error) {
	req, err := http.NewRequest("GET", f.at+"/f/"+f.id+"/challenge", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("X-Forwarded-For", ip)
	res, err := plainHTTP.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var challenge struct {
		Token string `json:"token"`
		Bits  int    `json:"bits"`
	}
	if err := json.NewDecoder(res.Body).Decode(&challenge); err != nil || challenge.Token == "" {
		return "", fmt.Errorf("challenge: %s, %w", res.Status, err)
	}
	return solve(challenge.Token, challenge.Bits), nil
}

// solve finds a nonce whose hash begins with so many zero bits.
func solve(token string, zeros int) string {
	text := append([]byte(token), '.')
	head := len(text)
	for n := uint64(0); ; n++ {
		text = fmt.Append(text[:head], n)
		sum := sha256.Sum256(text)
		got := 0
		for _, b := range sum {
			got += bits.LeadingZeros8(b)
			if b != 0 {
				break
			}
		}
		if got >= zeros {
			return string(text)
		}
	}
}

// submit posts the form as a visitor, and returns status and page.
func (f *signUpForm) submit(ip, email, proof string) (int, []byte, error) {
	form := url.Values{"email": {email}}
	if proof != "" {
		form.Set("proof", proof)
	}
	req, err := http.NewRequest("POST", f.at+"/f/"+f.id, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Forwarded-For", ip)
	req.Header.Set("Accept-Language", "en")
	res, err := plainHTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, b, err
}

// rangeAddress is an address in the n-th /24.
func rangeAddress(n int) string { return fmt.Sprintf("41.%d.%d.%d", n/256%256, n%256, 1+n/65536%250) }

// TestSignUpUnderAttack: hostile submissions from 5,000 ranges, half of them with proofs, against one
// form, while another team sends and people sign up honestly.
func TestSignUpUnderAttack(t *testing.T) {
	part(t, judged)
	relay := newSink(t, sinkOptions{})
	in := startBare(t, "--relay", "smtp://"+relay.addr+"?tls=off", "--rate-limit", "0")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	form := newForm(t, in.url, api)
	quiet := sendSteadily(t, api, "a@example.test", 10*time.Second)
	total := *attacks
	if total == 0 {
		total = 10_000
	}
	proofs := harvest(t, form, min(total/2, 20_000), 8*time.Minute)
	idle := in.memory(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var peak atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			peak.Store(max(peak.Load(), int64(in.memory(t))))
			pause(ctx, 100*time.Millisecond)
		}
	})
	span := time.Duration(total) * time.Second / attackRate
	var refused, failed atomic.Int64
	wg.Go(func() { attack(ctx, form, total, proofs, &refused, &failed) })
	var honest []string
	wg.Go(func() {
		for n := range honestSignUps {
			email := fmt.Sprintf("honest-%d@example.com", n)
			ip := fmt.Sprintf("185.%d.7.9", n)
			proof, err := form.proof(ip)
			if err == nil {
				var status int
				var page []byte
				if status, page, err = form.submit(ip, email, proof); err == nil && status != http.StatusOK {
					err = fmt.Errorf("%d %s", status, page)
				}
			}
			if err != nil {
				t.Errorf("an honest sign-up: %v", err)
			}
			honest = append(honest, email)
			pause(ctx, span/honestSignUps)
		}
	})
	loaded := sendSteadily(t, api, "a@example.test", span)
	wait := make(chan struct{})
	go func() { time.Sleep(span / 10); stop(); wg.Wait(); close(wait) }()
	<-wait
	got := map[string]int{}
	for _, m := range relay.matching(func(m *message) bool { return strings.Contains(m.header("From"), "news@example.test") }) {
		for _, to := range m.To {
			got[to]++
		}
	}
	mails, most, reached := 0, 0, 0
	for to, n := range got {
		mails, most = mails+n, max(most, n)
		if slices.Contains(honest, to) {
			reached++
		}
	}
	t.Logf("%d submissions in %s, %d with proofs: %d refused, %d failed; %d confirmations, at most %d to one address, %d of %d honest ones; p99 of sends %s, quiet %s; memory %d MiB, at most %d",
		total, span, len(proofs), refused.Load(), failed.Load(), mails, most, reached, len(honest), p99(loaded), p99(quiet), idle, peak.Load())
	if mails > formsPerHour || most > 1 {
		t.Errorf("%d confirmations of the form in an hour, at most %d; %d to one address in ten minutes", mails, formsPerHour, most)
	}
	// The attack uses up the mails of the hour within seconds. Honest sign-ups wait for the next ones, of which they are the
	// first: their ranges have the fewest that wait.
	waits := pendingOptIns(t, api)
	for _, email := range honest {
		if got[email] == 0 && !waits[email] {
			t.Errorf("the sign-up of %s is lost", email)
		}
	}
	if p99(loaded) > time.Second {
		t.Errorf("p99 of another route is %s", p99(loaded))
	}
	if grown := int(peak.Load()) - idle; grown > attackGrowth {
		t.Errorf("memory grew by %d MiB, at most %d", grown, attackGrowth)
	}
}

// pendingOptIns returns the addresses that wait for their confirmation.
func pendingOptIns(t *testing.T, api client) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for after, more := "", true; more; {
		var page struct {
			Data    []struct{ ID, Email string }
			HasMore bool `json:"has_more"`
		}
		api.get(t, "/opt-ins?status=pending&limit=100"+after, &page)
		for _, o := range page.Data {
			all[o.Email], after = true, "&after="+o.ID
		}
		more = page.HasMore
	}
	return all
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// harvest solves n challenges, or as many as there is time for. Challenges end after ten minutes.
func harvest(t *testing.T, form *signUpForm, n int, most time.Duration) (proofs []string) {
	var mu sync.Mutex
	var next atomic.Int64
	end := time.Now().Add(most)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for time.Now().Before(end) {
				i := int(next.Add(1))
				if i > n {
					return
				}
				p, err := form.proof(rangeAddress(i))
				if err != nil {
					continue // it may be limited
				}
				mu.Lock()
				proofs = append(proofs, p)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d challenges solved", len(proofs))
	return proofs
}

// attack submits at attackRate, every second one with a proof while there are some.
func attack(ctx context.Context, form *signUpForm, total int, proofs []string, refused, failed *atomic.Int64) {
	slots := make(chan struct{}, 200)
	tick := time.NewTicker(time.Second / attackRate)
	defer tick.Stop()
	var wg sync.WaitGroup
	for i := 0; i < total && ctx.Err() == nil; i++ {
		<-tick.C
		proof := ""
		if i%2 == 0 && i/2 < len(proofs) {
			proof = proofs[i/2]
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			status, _, err := form.submit(rangeAddress(i%attackRanges), fmt.Sprintf("victim-%d@example.com", i%2000), proof)
			switch {
			case err != nil || status >= 500:
				failed.Add(1)
			case status >= 400:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
}

// sendSteadily sends neighbourSends emails a second for a while, and returns the sorted times until
// their answers.
func sendSteadily(t *testing.T, api client, from string, span time.Duration) (took []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / neighbourSends)
	defer tick.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); {
		<-tick.C
		wg.Go(func() {
			begin := time.Now()
			status, b, err := api.try("POST", "/emails", map[string]any{"from": from, "to": "b@example.com", "subject": "steady", "text": "x"})
			if err != nil || status != http.StatusOK {
				t.Errorf("POST /emails: %d %s %v", status, b, err)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(begin))
		})
	}
	wg.Wait()
	slices.Sort(took)
	return took
}

// confirmLink returns the link to confirm in a confirmation.
func confirmLink(t *testing.T, m *message) string {
	t.Helper()
	text := bytes.ReplaceAll(m.Raw, []byte("=\r\n"), nil)
	text = bytes.ReplaceAll(text, []byte("=3D"), []byte("="))
	_, rest, found := bytes.Cut(text, []byte("/opt-in/"))
	if !found {
		t.Fatalf("no link in\n%s", m.Raw)
	}
	end := bytes.IndexAny(rest, " \r\n\"<>/?")
	return "/opt-in/" + string(rest[:end])
}

// signUps are people who sign up and confirm while servers are killed.
type signUps struct {
	form   *signUpForm
	relays []*sink
	people int

	mu               sync.Mutex
	asked, confirmed map[string]bool
}

// start has people sign up, gap apart, and press the button in each mail, each until an answer comes.
// stop returns once nobody does.
func (s *signUps) start(t *testing.T, gap time.Duration) (stop func()) {
	s.asked, s.confirmed = map[string]bool{}, map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; n < s.people && ctx.Err() == nil; n++ {
			s.ask(ctx, fmt.Sprintf("p%d@example.com", n), fmt.Sprintf("185.%d.8.9", n))
			pause(ctx, gap)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			for _, m := range s.mails() {
				s.confirm(t, &m)
			}
			pause(ctx, 20*time.Millisecond)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

func (s *signUps) mails() (out []message) {
	for _, relay := range s.relays {
		out = append(out, relay.messages()...)
	}
	return out
}

func (s *signUps) ask(ctx context.Context, email, ip string) {
	for ctx.Err() == nil {
		if proof, err := s.form.proof(ip); err == nil {
			if status, _, err := s.form.submit(ip, email, proof); err == nil && status == http.StatusOK {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.asked[email] = true
				return
			}
		}
		pause(ctx, 20*time.Millisecond)
	}
}

func (s *signUps) confirm(t *testing.T, m *message) {
	to := m.To[0]
	s.mu.Lock()
	done := s.confirmed[to]
	s.mu.Unlock()
	if done {
		return
	}
	res, err := plainHTTP.PostForm(s.form.at+confirmLink(t, m), url.Values{"opt-in-decision": {"confirm"}})
	if err != nil {
		return // killed: it is pressed again
	}
	res.Body.Close()
	if res.StatusCode == http.StatusOK {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.confirmed[to] = true
	}
}

// wait waits until everyone confirmed, and judges: each is a contact, and was sent one confirmation, or
// another one as a listed doubt.
func (s *signUps) wait(t *testing.T, api client, doubts func() map[string]int) {
	t.Helper()
	eventually(t, 3*time.Minute, "everyone has confirmed", func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.asked) == s.people && len(s.confirmed) == s.people, fmt.Sprintf("%d of %d asked, %d confirmed, %d mails", len(s.asked), s.people, len(s.confirmed), len(s.mails()))
	})
	for email := range s.confirmed {
		if status, b := api.do(t, "GET", "/contacts/"+email, nil); status != http.StatusOK {
			t.Errorf("%s confirmed and is no contact: %d %s", email, status, b)
		}
	}
	listed, twice := doubts(), len(s.mails())-s.people
	if twice < 0 || twice > len(listed) {
		t.Errorf("%d confirmations twice, and %d doubts", twice, len(listed))
	}
	t.Logf("%d people, %d mails, %d doubts", s.people, len(s.mails()), len(listed))
}

// TestKillDuringSignUps kills the server again and again while people sign up and confirm.
func TestKillDuringSignUps(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 5 * time.Millisecond})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	rounds := killCount()
	s := &signUps{form: newForm(t, in.url, api), relays: []*sink{relay}, people: min(formsPerHour-2, 10*rounds)}
	stop := s.start(t, time.Duration(rounds)*time.Second/time.Duration(s.people))
	for range rounds {
		afterRandom(time.Second)
		in.kill(t)
		in.serve(t)
	}
	t.Logf("%d kills", rounds)
	s.wait(t, api, func() map[string]int { return doubtCounts(t, in) })
	stop()
	in.checkFiles(t)
}

// TestPostgresKillDuringSignUps kills one of two servers on PostgreSQL again and again, alternately the
// one that leads.
func TestPostgresKillDuringSignUps(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true}
	onOne(t, p, "")
	rounds := min(cmp.Or(*takeovers, 3), 10)
	s := &signUps{form: newForm(t, p.front.url(), p.api), relays: p.relays[:], people: 10 * min(rounds, 5)}
	stop := s.start(t, time.Duration(rounds)*5*time.Second/time.Duration(s.people))
	for round := range rounds {
		afterRandom(2 * time.Second)
		n, led := p.victim(t, round)
		killed := time.Now()
		p.nodes[n].kill(t)
		if led {
			p.waitTakeOver(t, 1-n, killed)
		}
		p.again(t, n)
	}
	t.Logf("%d kills", rounds)
	s.wait(t, p.api, func() map[string]int { return doubtCounts(t, p.nodes[p.working()]) })
	stop()
}
