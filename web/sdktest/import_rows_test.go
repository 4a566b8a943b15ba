package sdktest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	importSenders  = 4
	importTime     = 90 * time.Second // of a million rows
	importMemory   = 120 << 20        // of the process that imports them
	importNoLonger = 2 * time.Second  // longest extra wait of a client meanwhile
)

// rowsToImport is how many rows the file of the test has.
func rowsToImport() int {
	if *importRows > 0 {
		return *importRows
	}
	return 20_000
}

// peopleFile writes n people in the shape of Brevo's export: each tenth opted out.
func peopleFile(t *testing.T, path string, n int) string {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "CONTACT ID,EMAIL,FIRSTNAME,LASTNAME,CITY,EMAIL_BLACKLISTED,ADDED_TIME,MODIFIED_TIME,LISTS")
	for i := range n {
		fmt.Fprintf(w, "%d,%s,Ann %d,Lee,Riga,%s,12-04-2022 09:30,,List %d\n", i, personAddress(i), i, []string{"No", "Yes"}[btoi(i%10 == 9)], i%7)
	}
	must(t, w.Flush())
	must(t, f.Close())
	return path
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// waits are how long requests took.
type waits []time.Duration

func (w waits) at(percent int) time.Duration {
	if len(w) == 0 {
		return 0
	}
	slices.Sort(w)
	return w[min(len(w)-1, len(w)*percent/100)]
}

func (w waits) String() string {
	return fmt.Sprintf("%d sends, p50 %s, p99 %s, longest %s", len(w), w.at(50).Round(time.Microsecond), w.at(99).Round(time.Microsecond), w.at(100).Round(time.Microsecond))
}

// sending has clients send one email after the other until stop is called, which returns
// how long each took.
func sending(t *testing.T, api client) (stop func() waits) {
	t.Helper()
	var over atomic.Bool
	var group sync.WaitGroup
	all := make([]waits, importSenders)
	for i := range importSenders {
		group.Go(func() {
			for n := 0; !over.Load(); n++ {
				began := time.Now()
				status, b, err := api.try("POST", "/emails", map[string]any{"from": "ann@example.test", "to": fmt.Sprintf("c%d@clients.example", i), "subject": "Beside", "text": fmt.Sprint(n)})
				if err != nil || status != http.StatusOK {
					t.Errorf("a client beside an import: %d %s %v", status, b, err)
					return
				}
				all[i] = append(all[i], time.Since(began))
			}
		})
	}
	return func() waits {
		over.Store(true)
		group.Wait()
		return slices.Concat(all...)
	}
}

// peak is the most memory that a process had so far.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // no Linux
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return 0
}

// watched waits for a process and returns the most memory that it had. What the system
// counts for it in the end has in it what this process had when it began it.
func watched(t *testing.T, cmd *exec.Cmd) (used int64, err error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return used, err
		case <-look.C:
			used = max(used, peak(t, cmd.Process.Pid))
		}
	}
}

// idle measures clients without an import.
func idle(t *testing.T, api client) waits {
	t.Helper()
	stop := sending(t, api)
	<-time.After(time.Second)
	return stop()
}

// TestSendDuringLargeImport imports a large file while clients send, by command and by API. The
// command's memory does not depend on the file's length.
func TestSendDuringLargeImport(t *testing.T) {
	part(t, "imports", judged)
	in := startBare(t, "--rate-limit", "0")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	n := rowsToImport()
	path := peopleFile(t, filepath.Join(in.dir, "contacts.csv"), n)
	before := idle(t, api)
	t.Logf("alone: %s; server's peak %d MB", before, peak(t, in.cmd.Process.Pid)>>20)

	stop := sending(t, api)
	cmd, out, errs := in.importCommand("csv", path, "--apply")
	began := time.Now()
	must(t, cmd.Start())
	used, err := watched(t, cmd)
	took := time.Since(began)
	during := stop()
	if err != nil {
		t.Fatalf("import: %v\n%s", err, tail(errs.Bytes(), 2000))
	}
	var report imported
	must(t, json.Unmarshal(out.Bytes(), &report))
	if report.Contacts.New != n || report.OptedOut != n/10 || len(report.Refused) > 0 {
		t.Errorf("taken: %+v, opted out %d, refused %d", report.Contacts, report.OptedOut, len(report.Refused))
	}
	t.Logf("mailer import csv, %d rows: %s, %s of CPU, peak %d MB; beside it %s; server's peak %d MB", n, took.Round(time.Millisecond),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(time.Millisecond), used>>20, during, peak(t, in.cmd.Process.Pid)>>20)
	if *perf && used > importMemory {
		t.Errorf("the import took %d MB, want at most %d", used>>20, importMemory>>20)
	}
	if most := max(importTime, importTime*time.Duration(n)/1_000_000); *perf && took > most {
		t.Errorf("the import took %s, want at most %s", took, most)
	}
	if p99 := during.at(99); tooSlow(p99, before.at(99), importNoLonger) {
		t.Errorf("one send in 100 beside the import took %s, want at most %s", p99, importNoLonger)
	}
	uploaded(t, in, path, n, before)
}

// uploaded imports the file into another team through the API while clients send.
func uploaded(t *testing.T, in *instance, path string, n int, alone waits) {
	t.Helper()
	api := in.newTeam(t, "Uploading")
	clients := client{in.url, in.newKey(t)}
	stop := sending(t, clients)
	began := time.Now()
	id := upload(t, api, path)
	sent := time.Since(began)
	var state struct {
		Status string         `json:"status"`
		Counts map[string]int `json:"counts"`
	}
	eventually(t, 2*importTime, "the import is over", func() (bool, string) {
		api.get(t, "/contacts/imports/"+id, &state)
		return state.Status == "completed" || state.Status == "failed", fmt.Sprintf("%+v", state)
	})
	took := time.Since(began)
	during := stop()
	t.Logf("POST /contacts/imports, %d rows: %s, of which the upload %s; beside it %s; server's peak %d MB", n, took.Round(time.Millisecond), sent.Round(time.Millisecond),
		during, peak(t, in.cmd.Process.Pid)>>20)
	if state.Status != "completed" || state.Counts["created"] != n {
		t.Errorf("%+v, want %d created", state, n)
	}
	if p99 := during.at(99); tooSlow(p99, alone.at(99), importNoLonger) {
		t.Errorf("one send in 100 beside the upload took %s, want at most %s", p99, importNoLonger)
	}
}

// upload uploads a file and returns the import's id.
func upload(t *testing.T, api client, path string) string {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	_, err = form.CreateFormFile("file", filepath.Base(path))
	must(t, err)
	end := "\r\n--" + form.Boundary() + "--\r\n"
	req, err := http.NewRequest(http.MethodPost, api.url+"/contacts/imports?preset=brevo", io.MultiReader(&head, f, strings.NewReader(end)))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+api.key)
	req.Header.Set("Content-Type", form.FormDataContentType())
	res, err := (&http.Client{Timeout: 2 * importTime}).Do(req)
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode/100 != 2 {
		t.Fatalf("POST /contacts/imports: %d %s", res.StatusCode, b)
	}
	return idOf(t, b)
}
