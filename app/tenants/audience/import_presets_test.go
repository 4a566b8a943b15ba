package audience_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// zipFile makes an archive of members, given as alternating names and texts.
func zipFile(t testing.TB, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		testserver.Must(t, err)
		_, err = w.Write([]byte(members[i+1]))
		testserver.Must(t, err)
	}
	testserver.Must(t, z.Close())
	return b.String()
}

// optOutFile returns a Mailchimp export with n contacts of each kind, subscribed ones before
// unsubscribed ones. Some addresses are in both.
func optOutFile(t testing.TB, n int) (file string, out []string) {
	t.Helper()
	in, gone, cleaned := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	for _, b := range []*strings.Builder{in, gone, cleaned} {
		b.WriteString("Email Address,First Name,CITY,LEID,EUID,TAGS\n")
	}
	for i := range n {
		fmt.Fprintf(in, "in%d@example.org,In,Riga,1,2,\"\"\"VIP\"\"\"\n", i)
		fmt.Fprintf(gone, "gone%d@example.org,Gone,,1,2,\n", i)
		fmt.Fprintf(cleaned, "cleaned%d@example.org,,,1,2,\n", i)
		out = append(out, fmt.Sprintf("gone%d@example.org", i), fmt.Sprintf("cleaned%d@example.org", i))
		if i%3 == 0 {
			fmt.Fprintf(in, "gone%d@example.org,Both,,1,2,\n", i)
		}
	}
	gone.WriteString("nobody,x,,,,\nhalf@example.org,x\n")
	return zipFile(t, "a_subscribed.csv", in.String(), "cleaned_x.csv", cleaned.String(), "subscribed_x.csv", in.String(), "unsubscribed_x.csv", gone.String(), "notes.md", "x"), append(out, "half@example.org")
}

// mailable returns the addresses whose contacts get mail.
func mailable(w *testserver.Server, addresses []string) (out []string) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		for _, address := range addresses {
			hash := w.AddressHash(address)
			c, err := r.ContactByAddress(w.Key.TeamID, hash)
			if err != nil || c.Unsubscribed {
				continue
			}
			if _, err := r.SuppressionByAddress(w.Key.TeamID, hash); err != nil {
				out = append(out, address)
			}
		}
		return nil
	})
	return out
}

// TestCrashedImportNeverResubscribes stops an import after each of its Writes, and continues it in
// another process.
func TestCrashedImportNeverResubscribes(t *testing.T) {
	const n = 150
	want := contactfile.Counts{Created: 3 * n, Skipped: n + 2*n/3, Failed: 2}
	for writes := range 8 {
		t.Run(fmt.Sprint(writes), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w := testserver.New(t, testserver.NewRelay(nil))
				file, out := optOutFile(t, n)
				id := upload(w, contactfile.Input{}, file)
				run := openRun(w)
				for range writes {
					if i, _ := w.GetImport(id); !i.CompletedAt.IsZero() {
						break
					}
					testserver.Must(t, run.Step(t.Context()))
					if got := mailable(w, out); len(got) > 0 {
						t.Fatalf("%q get mail", got)
					}
				}
				next := w.Crash(testserver.NewRelay(nil))
				next.Start()
				synctest.Wait()
				wantImport(next, id, contactfile.Completed, "", want)
				if got := mailable(next, out); len(got) > 0 {
					t.Errorf("%q get mail", got)
				}
				if got := next.CountContacts(); got != 3*n+1 {
					t.Errorf("%d contacts", got)
				}
				if got := next.SQL("SELECT count(*) FROM suppressions WHERE origin = 'bounce'")[0]; got != fmt.Sprint(n) {
					t.Errorf("%s bounces", got)
				}
				if got := next.SQL("SELECT name || members FROM segments"); fmt.Sprint(got) != fmt.Sprintf("[VIP%d]", n) {
					t.Errorf("segments %q", got)
				}
				wantNoFiles(next, id)
			})
		})
	}
}

func TestOptOutPassDelaysNoOtherTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		other := w.AddTeam("other", "other.example")
		file, _ := optOutFile(t, 2000)
		large := uploadAs(w, other, contactfile.Input{Preset: "mailchimp"}, file)
		small := upload(w, contactfile.Input{}, "email,unsubscribed\na@example.org,yes\n")
		synctest.Wait()
		if s, l := importOf(w, w.Key, small), importOf(w, other, large); s.Status != contactfile.Completed || l.Status != contactfile.Completed || s.CompletedAt.After(l.CompletedAt) {
			t.Errorf("%+v, %+v", s, l)
		}
		wantImport(w, small, contactfile.Completed, "", contactfile.Counts{Created: 1})
	})
}

// on_conflict applies to values, not to opt-outs.
func TestImportedOptOutAppliesToExistingContacts(t *testing.T) {
	for _, conflict := range []string{"skip", "upsert"} {
		t.Run(conflict, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w := testserver.Start(t, testserver.NewRelay(nil))
				upload(w, contactfile.Input{}, "email,first name\na@example.org,A\nb@example.org,B\nc@example.org,C\nd@example.org,D\n")
				id := upload(w, contactfile.Input{OnConflict: conflict}, "email,first name,unsubscribed,status\nA@example.org,X,yes,\nb@example.org,X,no,bounced\nc@example.org,X,maybe,Unsubscribed\nd@example.org,X,,paid\n")
				synctest.Wait()
				counts := contactfile.Counts{Updated: 1, Skipped: 2, Failed: 1}
				if conflict == "upsert" {
					counts = contactfile.Counts{Updated: 3, Failed: 1}
				}
				wantImport(w, id, contactfile.Completed, "", counts)
				if got := fmt.Sprint(mailable(w, []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"})); got != "[d@example.org]" {
					t.Errorf("%s get mail", got)
				}
			})
		})
	}
}

func TestImportCreatesAtMostThousandSegments(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		text := &strings.Builder{}
		text.WriteString("Email Address,TAGS,LEID,EUID,UNSUB_TIME\n")
		for i := range contactfile.MaxNewSegments + 10 {
			fmt.Fprintf(text, "a%d@example.org,t%d,,,\n", i, i)
		}
		text.WriteString("out@example.org,last,,,2022-01-01 00:00:00\nb@example.org,t1,,,\n")
		id := upload(w, contactfile.Input{}, text.String())
		synctest.Wait()
		// The opt-out was written first.
		wantImport(w, id, contactfile.Completed, "", contactfile.Counts{Created: contactfile.MaxNewSegments + 1, Failed: 11})
		if got := w.SQL("SELECT count(*) FROM segments")[0]; got != fmt.Sprint(contactfile.MaxNewSegments) {
			t.Errorf("%s segments", got)
		}
	})
}

// An erased address can be masked in the stored text.
func TestPackedImportIsStoredUnpacked(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		sixteen := []byte("\xff\xfe")
		for _, u := range utf16.Encode([]rune("email\nerased@example.org\n")) {
			sixteen = append(sixteen, byte(u), byte(u>>8))
		}
		for name, file := range map[string]string{"ZIP": zipFile(t, "a.csv", "email\nerased@example.org\n"), "UTF-16": string(sixteen)} {
			id := upload(w, contactfile.Input{}, file)
			w.Read(func(r *db.Reader) error {
				piece, err := r.Piece(id, 0)
				if err != nil || !bytes.Contains(piece, []byte("erased@example.org")) {
					t.Errorf("%s: %q, %v", name, piece, err)
				}
				stored, err := r.StoredImports(contactfile.Uploading, time.Now())
				if len(stored) > 0 {
					t.Errorf("%s: the packed file stays", name)
				}
				return err
			})
		}
	})
}

func TestBadArchiveIsRefusedAndDeleted(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		long := zipFile(t, "a.csv", "email\n"+strings.Repeat("a@example.org\n", 50_000))
		broken := []byte(long)
		broken[len(broken)/2] ^= 0xff
		for file, text := range map[string]string{long[:len(long)-9]: "damaged or not whole", string(broken): "damaged", zipFile(t, "a.md", "x"): "holds no .csv", "\x1f\x8b\x08": "gzip"} {
			_, err := w.Services.Imports.CreateImport(t.Context(), w.Key, func(to io.Writer) (contactfile.Input, error) {
				_, err := io.WriteString(to, file)
				return contactfile.Input{}, err
			})
			if app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), text) {
				t.Errorf("%.10q: %v", file, err)
			}
		}
		if got := w.SQL("SELECT count(*) FROM import_pieces")[0]; got != "0" {
			t.Errorf("%s pieces stay", got)
		}
	})
}
