package sdktest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
)

// receivedThing is a received email as clients print it.
type receivedThing struct {
	Object      string
	ID          string
	From        string
	To          []string
	ReceivedFor []string `json:"received_for"`
	Subject     string
	MessageID   string `json:"message_id"`
	Text        string
	HTML        string
	Headers     map[string]string
	Attachments []receivedFile
	Raw         struct {
		DownloadURL string `json:"download_url"`
	}
}

type receivedFile struct {
	ID                 string
	Filename           string
	ContentType        string `json:"content_type"`
	ContentDisposition string `json:"content_disposition"`
	DownloadURL        string `json:"download_url"`
	Size               int
}

const receivedMail = "From: Ann <ann@peer.test>\r\nTo: support@in.example.test\r\nSubject: A question\r\nMessage-ID: <q1@peer.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
	"--b\r\nContent-Type: text/plain\r\n\r\nIs it open today?\r\n--b\r\nContent-Type: text/csv; name=hours.csv\r\nContent-Disposition: attachment; filename=hours.csv\r\n\r\nday,open\r\n--b--\r\n"

// receivingFixture is a server that receives mail for in.example.test at an address.
type receivingFixture struct {
	*fixture
	at string
	ns *nameServer
}

// newReceivingFixture starts the server and delivers one email.
func newReceivingFixture(t *testing.T, mode compat, args ...string) *receivingFixture {
	t.Helper()
	return newReceivingFixtureBy(t, start, mode, args...)
}

// newReceivingFixtureBy is newReceivingFixture for a server that begin starts.
func newReceivingFixtureBy(t *testing.T, begin func(t *testing.T, args ...string) *instance, mode compat, args ...string) *receivingFixture {
	t.Helper()
	ns, at := newNameServer(t), freeAddr(t)
	w := &receivingFixture{&fixture{sink: newSink(t, sinkOptions{})}, at, ns}
	w.in = begin(t, slices.Concat([]string{"--relay", "smtp://" + w.sink.addr + "?tls=off", "--resolver", ns.addr, "--smtp-receive", at, "--bounce-host", "mx.example.test", "--rate-limit", "0"}, mode.flags(), args)...)
	needSpace(t, filepath.Dir(w.in.db))
	w.key = w.in.newKey(t)
	w.in.addDomain(t, "example.test")
	w.in.addDomain(t, "in.example.test")
	w.receives(t, w.key, "in.example.test")
	eventually(t, time.Minute, "the mail is taken", func() (bool, string) {
		err := w.deliver(receivedMail)
		return err == nil, fmt.Sprint(err)
	})
	if err := w.deliver(receivedMail); err != nil { // as a peer that got no answer
		t.Errorf("again: %v", err)
	}
	return w
}

// needSpace skips the test if a server with its database in a directory would refuse mail for lack of space.
func needSpace(t *testing.T, dir string) {
	t.Helper()
	var fs syscall.Statfs_t
	must(t, syscall.Statfs(dir, &fs))
	free, size := uint64(fs.Bavail)*uint64(fs.Bsize), uint64(fs.Blocks)*uint64(fs.Bsize)
	need(t, free >= 10<<30 || free >= size/10, fmt.Sprintf("space for received mail: %d MB of %d MB are free in %s, which TMPDIR chooses", free>>20, size>>20, dir))
}

// receives makes the newest domain of a key's team receive.
func (w *receivingFixture) receives(t *testing.T, key, name string) {
	t.Helper()
	api := client{w.in.url, key}
	var list struct{ Data []domainThing }
	api.get(t, "/domains", &list)
	id := list.Data[0].ID
	if list.Data[0].Name != name {
		t.Fatalf("the newest domain is %+v", list.Data[0])
	}
	api.ask(t, "PATCH", "/domains/"+id, map[string]any{"capabilities": map[string]any{"receiving": "enabled"}}, 200)
	if err := w.deliver(receivedMail, "support@"+name); err == nil || !strings.HasPrefix(err.Error(), "550") {
		t.Errorf("before the MX record is found: %v", err)
	}
	w.ns.publish(t, dnsRecord{Name: name, Type: "MX", Value: "mx.example.test", Priority: 10})
	api.ask(t, "POST", "/domains/"+id+"/verify", nil, 200)
}

// deliver sends a message as another server does, without TLS; to whom, if it is not support@in.example.test. An error
// begins with the reply.
func (w *receivingFixture) deliver(message string, to ...string) error {
	if len(to) == 0 {
		to = []string{"support@in.example.test"}
	}
	c, a, err := w.greet("")
	if err == nil && a.code == 250 {
		a, err = c.handIn(message, "", to...)
	}
	if c != nil {
		c.Close()
	}
	if err == nil && a.code != 250 {
		err = errors.New(a.String())
	}
	return err
}

// greet connects from a loopback address and says EHLO; empty: any. The answer is the refusal if the greeting is none.
func (w *receivingFixture) greet(local string) (c *smtpConn, a answer, err error) {
	if local == "" {
		local = "127.0.0.1"
	}
	if c, a, err = dialFrom(local, w.at); err != nil || a.code != 220 {
		return c, a, err
	}
	a, err = c.cmd("EHLO peer.test")
	return c, a, err
}

// TestKillWhileReceiving kills the server again and again while peers deliver mail, which they repeat until it is taken.
// Each email is there once.
func TestKillWhileReceiving(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	w := newReceivingFixture(t, strict)
	rounds := killCount()
	const peers = 4
	n := 25 * rounds
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var taken atomic.Int64
	var group sync.WaitGroup
	for peer := range peers {
		group.Go(func() {
			for i := range n {
				size := []int{10, 1000, 200_000}[i%3] // in one Write, and in pieces
				message := fmt.Sprintf("From: ann@peer.test\r\nTo: support@in.example.test\r\nSubject: s\r\nMessage-ID: <m%d-%d@peer.test>\r\n\r\n%s\r\n", peer, i, strings.Repeat("0123456789\r\n", size/10))
				for ctx.Err() == nil && w.deliver(message) != nil {
					pause(ctx, 20*time.Millisecond)
				}
				taken.Add(1)
			}
		})
	}
	for range rounds {
		afterRandom(time.Second)
		w.in.kill(t)
		w.in.serve(t)
	}
	eventually(t, 5*time.Minute, "all mail is taken", func() (bool, string) {
		return taken.Load() == int64(peers*n), fmt.Sprint(taken.Load(), " of ", peers*n)
	})
	group.Wait()
	count, after := map[string]int{}, ""
	for more := true; more; {
		var page struct {
			Data    []receivedThing
			HasMore bool `json:"has_more"`
		}
		client{w.in.url, w.key}.get(t, "/emails/receiving?limit=100"+after, &page)
		for _, m := range page.Data {
			count[m.MessageID]++
			after = "&after=" + m.ID
		}
		more = page.HasMore
	}
	for id, times := range count {
		if times != 1 {
			t.Errorf("%s is there %d times", id, times)
		}
	}
	if len(count) != peers*n+1 {
		t.Errorf("%d emails, want %d", len(count), peers*n+1)
	}
	t.Logf("%d kills, %d emails", rounds, len(count))
	w.in.checkFiles(t)
}

func TestNodeClientReceiving(t *testing.T) {
	part(t, "clients", shortForm)
	needNode(t)
	t.Parallel()
	w := newReceivingFixture(t, likeResend)
	var got struct {
		List      struct{ Data []receivedThing }
		Email     receivedThing
		Files     struct{ Data []receivedFile }
		File      receivedFile
		Content   string
		Raw       string
		Forwarded thing
		Error     apiError
	}
	runNode(t, w.in.url, w.key, "receiving.mjs", map[string]string{"FROM": "a@example.test", "ID": someID}).into(t, &got)
	e := got.Email
	if len(got.List.Data) != 1 || e.Object != "email" || e.ID != got.List.Data[0].ID || !strings.Contains(e.From, "ann@peer.test") || len(e.ReceivedFor) != 1 || e.ReceivedFor[0] != "support@in.example.test" || e.Subject != "A question" ||
		e.MessageID != "<q1@peer.test>" || strings.TrimSpace(e.Text) != "Is it open today?" {
		t.Errorf("list %+v, email %+v", got.List, e)
	}
	if f := got.File; len(got.Files.Data) != 1 || f.Filename != "hours.csv" || f.ContentDisposition != "attachment" || strings.TrimSpace(got.Content) != "day,open" || got.Raw != receivedMail {
		t.Errorf("file %+v %q, raw %q", f, got.Content, got.Raw)
	}
	if got.Forwarded.ID == "" || got.Error.StatusCode != 404 {
		t.Errorf("forwarded %+v, unknown %+v", got.Forwarded, got.Error)
	}
	w.wantTo(t, "ann@example.com")
}

func TestGoV3ClientReceiving(t *testing.T) {
	part(t, "clients")
	t.Parallel()
	w := newReceivingFixture(t, strict)
	c, _ := v3Client(t, w.in.url, w.key)
	r := c.Emails.Receiving
	all, err := r.List()
	must(t, err)
	again, err := r.ListWithContext(t.Context())
	must(t, err)
	limit := 1
	page, err := r.ListWithOptions(t.Context(), &resendv3.ListOptions{Limit: &limit})
	must(t, err)
	if len(all.Data) != 1 || len(again.Data) != 1 || len(page.Data) != 1 {
		t.Fatalf("%+v", all)
	}
	id := all.Data[0].Id
	format := "cid"
	for _, get := range []func() (*resendv3.ReceivedEmail, error){
		func() (*resendv3.ReceivedEmail, error) { return r.Get(id) },
		func() (*resendv3.ReceivedEmail, error) { return r.GetWithContext(t.Context(), id) },
		func() (*resendv3.ReceivedEmail, error) {
			return r.GetWithOptions(t.Context(), id, &resendv3.GetReceivedEmailParams{HtmlFormat: &format})
		},
	} {
		e, err := get()
		must(t, err)
		if e.Object != "email" || e.Subject != "A question" || e.Headers == nil || e.Raw.DownloadUrl == "" || len(e.Attachments) != 1 {
			t.Errorf("%+v", e)
		}
	}
	files, err := r.ListAttachments(id)
	must(t, err)
	more, err := r.ListAttachmentsWithContext(t.Context(), id)
	must(t, err)
	few, err := r.ListAttachmentsWithOptions(t.Context(), id, &resendv3.ListOptions{Limit: &limit})
	must(t, err)
	if len(files.Data) != 1 || len(more.Data) != 1 || len(few.Data) != 1 {
		t.Fatalf("%+v", files)
	}
	one, err := r.GetAttachment(id, files.Data[0].Id)
	must(t, err)
	same, err := r.GetAttachmentWithContext(t.Context(), id, files.Data[0].Id)
	must(t, err)
	if one.Filename != "hours.csv" || one.DownloadUrl == "" || same.Id != one.Id {
		t.Errorf("%+v", one)
	}
}

func TestResendCommandLineReceiving(t *testing.T) {
	part(t, "clients")
	needNode(t)
	t.Parallel()
	w := newReceivingFixture(t, likeResend)
	call := func(into any, args ...string) {
		t.Helper()
		out, err := runCLI(t, w.fixture, w.key, append([]string{"emails", "receiving"}, args...)...)
		must(t, err)
		out.into(t, into)
	}
	var list struct{ Data []receivedThing }
	var email receivedThing
	var files struct{ Data []receivedFile }
	var file receivedFile
	var forwarded thing
	call(&list, "list")
	call(&email, "get", list.Data[0].ID)
	call(&files, "attachments", email.ID)
	call(&file, "attachment", email.ID, files.Data[0].ID)
	call(&forwarded, "forward", email.ID, "--to", "ann@example.com", "--from", "a@example.test")
	if email.Subject != "A question" || file.Filename != "hours.csv" || forwarded.ID == "" {
		t.Errorf("%+v, %+v, %+v", email, file, forwarded)
	}
	w.wantTo(t, "ann@example.com")
}

func TestResendMCPReceiving(t *testing.T) {
	part(t, "clients")
	needMCP(t)
	t.Parallel()
	w := newReceivingFixture(t, likeResend)
	resendMCPAt(t, w.fixture).checkCalls(t, []toolCall{
		{"list-received-emails", object(), "A question", "RECEIVED", false},
		{"get-received-email", object("id", "$RECEIVED"), "Is it open today?", "", false},
		{"list-received-email-attachments", object("emailId", "$RECEIVED"), "hours.csv", "FILE", false},
		{"get-received-email-attachment", object("emailId", "$RECEIVED", "id", "$FILE"), "hours.csv", "", false},
	})
}
