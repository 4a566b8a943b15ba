package web

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
	"mailer/db"
	"mailer/web/rest"
)

// listStatus returns whether addresses get mail, and why not.
func (r *testAPI) listStatus(addresses ...string) (out string) {
	r.t.Helper()
	err := r.store.Read(r.t.Context(), func(reader *db.Reader) error {
		for _, address := range addresses {
			hash := r.sealer.AddressHash(r.team.ID, app.KeyOf(address))
			c, err := reader.ContactByAddress(r.team.ID, hash)
			word := "in"
			if err != nil {
				word = "none"
			} else if c.Unsubscribed {
				word = "out"
			}
			if s, err := reader.SuppressionByAddress(r.team.ID, hash); err == nil {
				word += "/" + string(s.Origin)
			}
			out += word + " "
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func TestImportPresets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ preset, file, counts, statuses string }{
		{"mailchimp", apptest.Zip(t, "subscribed_x.csv", "Email Address,First Name,CITY,LEID,EUID,TAGS\na@example.org,Ann,Riga,1,2,\"\"\"VIP\"\"\"\n",
			"unsubscribed_x.csv", "Email Address,LEID,EUID,UNSUB_TIME\nb@example.org,1,2,2022-01-01 00:00:00\n", "cleaned_x.csv", "Email Address,LEID,EUID\nc@example.org,1,2\n"), "3=3+0+0+0", "in out in/bounce"},
		{"brevo", "EMAIL;PRENOM;EMAIL_BLACKLISTED;LISTS;CITY\na@example.org;Ann;No;VIP;Riga\nb@example.org;;Yes;;\n", "2=2+0+0+0", "in out none"},
		{"sendgrid", "EMAIL,FIRST_NAME,ALTERNATE_EMAILS,CONTACT_ID,CITY\na@example.org,Ann,,1,Riga\n", "1=1+0+0+0", "in none none"},
		{"postmark", "EmailAddress,SuppressionReason,Origin\na@example.org,HardBounce,Recipient\nb@example.org,ManualSuppression,Customer\nc@example.org,SoftBounce,Recipient\n", "3=2+0+1+0", "none/bounce none/manual none"},
		{"hubspot", "Record ID,Email,First Name,City,Unsubscribed from all email,Email hard bounce reason,List memberships\n1,a@example.org,Ann,Riga,,,VIP\n2,b@example.org,,,true,,\n3,c@example.org,,,,UNKNOWN_USER,\n", "3=3+0+0+0", "in out in/bounce"},
		{"mailerlite", "Subscriber,Name,City,Status,Groups\na@example.org,Ann,Riga,active,VIP\nb@example.org,,,unconfirmed,\nc@example.org,,,junk,\nd@example.org,,,odd,\n", "4=3+0+0+1", "in out out/complaint"},
		{"resend", "id,email,first_name,last_name,unsubscribed,created_at,city,segments\n1,a@example.org,Ann,,false,,Riga,VIP\n2,b@example.org,,,true,,,\n", "2=2+0+0+0", "in out none"},
		{"listmonk", "uuid,email,name,attributes,status,lists\n1,a@example.org,Ann,\"{\"\"city\"\":\"\"Riga\"\"}\",enabled,VIP\n2,b@example.org,,{},disabled,\n3,c@example.org,,{},blocklisted,\n", "3=3+0+0+0", "in out out/unsubscribe"},
	} {
		t.Run(tt.preset, func(t *testing.T) {
			r := newTestAPI(t, captured())
			body, header := form(t, field{"file", tt.file})
			w := r.as(r.full, "POST", "/contacts/imports?preset="+tt.preset, body, header)
			wantStatus(t, w, 201)
			a := r.finished(decodeImport(t, w).ID)
			if a.Status != "completed" || a.counts() != tt.counts {
				t.Errorf("%s %s, want %s\n%s", a.Status, a.counts(), tt.counts, a.errors())
			}
			if got := r.listStatus("a@example.org", "b@example.org", "c@example.org"); got != tt.statuses {
				t.Errorf("%s, want %s", got, tt.statuses)
			}
			if tt.preset != "postmark" {
				if c := r.contact("a@example.org"); c.FirstName != "Ann" || c.Properties["city"].Text != "Riga" {
					t.Errorf("%+v", c)
				}
			}
			if found := r.imported(field{"file", tt.file}); found.counts() == "" || found.Counts.Created != 0 {
				t.Errorf("without preset, once more: %s", found.counts())
			}
		})
	}
}

func TestPresetIsGivenOnce(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	file := csvFile("Subscriber", "a@example.org")
	if a := r.imported(file, field{"preset", "mailerlite"}); a.counts() != "1=1+0+0+0" {
		t.Error(a.counts())
	}
	wantError(t, r.upload(r.full, file, field{"preset", "odd"}), 422, app.CodeValidation, "`preset`", "listmonk")
	wantError(t, r.upload(r.full, file, field{"preset", "brevo"}), 422, app.CodeValidation, "`file`", "email address", "brevo")
	wantError(t, r.upload(r.full, csvFile("email"), field{"preset", "brevo"}, field{"column_map", "{}"}), 422, app.CodeValidation, "`preset`", "column_map")
	body, header := form(t, file, field{"preset", "mailerlite"})
	wantError(t, r.as(r.full, "POST", "/contacts/imports?preset=brevo", body, header), 422, app.CodeValidation, "`preset`", "another one")
	body, header = form(t, file)
	wantError(t, r.as(r.full, "POST", "/contacts/imports?preset=odd", body, header), 422, app.CodeValidation, "preset")
}

// TestArchiveErrorsNameFile: a line number alone is ambiguous.
func TestArchiveErrorsNameFile(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	file := apptest.Zip(t, "folder/b.csv", "email\nnobody\n", "a.csv", "email\na@example.org\n\"b@example.org\n")
	a := r.imported(field{"file", file})
	if a.Status != "completed" || a.counts() != "3=1+0+0+2" ||
		!strings.HasPrefix(a.errors(), "3: a.csv: Nothing is read from here on: a value in double quotes has no proper end\n2: b.csv: Column \"email\" ") {
		t.Errorf("%s %s\n%s", a.Status, a.counts(), a.errors())
	}
}

func TestImportLargerThanRequestLimit(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured(), func(_ *Config, l *rest.Limits) { l.Body = 64 << 10 })
	row := "a@example.org," + strings.Repeat("x", 900) + "\n"
	a := r.imported(field{"file", "email,note\n" + strings.Repeat(row, (1<<20)/len(row))})
	if a.Status != "completed" || a.Counts.Created != 1 || a.Counts.Failed != 0 {
		t.Error(fmt.Sprint(a.Status), a.counts())
	}
}
