package sdktest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStalledClientsMemory: 100 sockets that ask for a file of 10 MB, and as
// many for an email of 10 MB, and read nothing of either. Meanwhile another team sends
// as if nothing were, and it is over once they go.
func TestStalledClientsMemory(t *testing.T) {
	part(t, judged)
	in := startBare(t, "--rate-limit", "0")
	in.run(t, "teams", "create", "Other")
	api, other := client{in.url, in.newKey(t)}, client{in.url, in.newKey(t, "--team", "Other")}
	file := bytes.Repeat([]byte("0123456789abcdef"), 10<<16)
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.org", "subject": "s", "html": "<p>" + strings.Repeat("large \"text\"\n", 10<<16) + "</p>",
		"attachments": []any{map[string]any{"filename": "a.bin", "content": file}}})
	api.waitLast(t, id, time.Minute, "sent")
	var files struct {
		Data []struct {
			DownloadURL string `json:"download_url"`
		}
	}
	api.get(t, "/emails/"+id+"/attachments", &files)
	address, err := url.Parse(files.Data[0].DownloadURL)
	must(t, err)
	if size, content := download(t, in.url+address.Path); size != int64(len(file)) || !bytes.Equal(content, file) {
		t.Fatalf("%d bytes of %d, announced %d", len(content), len(file), size)
	}
	alone := slowest(t, other)
	for name, request := range map[string]string{
		"file":  "GET " + address.Path + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"email": "GET /emails/" + id + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + api.key + "\r\n\r\n",
	} {
		before := in.peak(t)
		var sockets []net.Conn
		for range 100 {
			c, err := net.Dial("tcp", in.addr)
			must(t, err)
			defer c.Close()
			_, err = io.WriteString(c, request)
			must(t, err)
			sockets = append(sockets, c)
		}
		if took := slowest(t, other); tooSlow(took, alone, time.Second) {
			t.Errorf("%s: p99 of another team's sends is %v, alone it was %v", name, took, alone)
		}
		if grown := in.peak(t) - before; grown > 150 {
			t.Errorf("%s: memory grew by %.0f MB", name, grown)
		}
		for _, c := range sockets {
			c.Close()
		}
		eventually(t, time.Minute, name+": it is over once they go", func() (bool, string) {
			status, _, err := api.try("GET", "/emails/"+id, nil)
			return status == http.StatusOK, fmt.Sprint(status, err)
		})
	}
}

// slowest sends 100 emails, one after the other, and returns the p99 of how long each took.
func slowest(t *testing.T, api client) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range 100 {
		start := time.Now()
		api.send(t, map[string]any{"from": "a@other.test", "to": fmt.Sprintf("b%d@example.org", i), "subject": "s", "text": "t"})
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return p99(took)
}

// download reads a file by its address, after HEAD, which says how large it is.
func download(t *testing.T, address string) (size int64, content []byte) {
	t.Helper()
	head, err := plainHTTP.Head(address)
	must(t, err)
	head.Body.Close()
	res, err := plainHTTP.Get(address)
	must(t, err)
	defer res.Body.Close()
	content, err = io.ReadAll(res.Body)
	must(t, err)
	if head.StatusCode != http.StatusOK || head.ContentLength != res.ContentLength {
		t.Errorf("HEAD %s with %d bytes, GET with %d", head.Status, head.ContentLength, res.ContentLength)
	}
	return head.ContentLength, content
}
