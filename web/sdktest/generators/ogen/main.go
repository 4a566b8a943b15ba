// Command ogen sends, lists and imports through a client that ogen made.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"strings"

	ht "github.com/ogen-go/ogen/http"
	"github.com/ogen-go/ogen/ogenerrors"

	"generators/ogen/client"
)

// key is the API key.
type key string

// Bearer implements client.SecuritySource.
func (k key) Bearer(context.Context, client.OperationName) (client.Bearer, error) {
	return client.Bearer{Token: string(k)}, nil
}

// Session implements client.SecuritySource: this program has no session.
func (k key) Session(context.Context, client.OperationName) (client.Session, error) {
	return client.Session{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	c, err := client.NewClient(os.Getenv("MAILER_URL"), key(os.Getenv("MAILER_KEY")))
	must(err)
	answer, err := c.SendEmail(ctx, &client.SendEmailRequest{
		From: client.NewOptString(os.Getenv("MAILER_FROM")), To: client.NewStringArraySendEmailRequestTo([]string{"ann@example.net"}),
		Subject: client.NewOptString("ogen"), Text: client.NewOptString("Hello"), Tags: []client.TagRequest{{Name: "made", Value: "by_machine"}},
	}, client.SendEmailParams{})
	must(err)
	sent, ok := answer.(*client.CreatedEmail)
	need(ok, answer)
	rows, err := c.ListEmails(ctx, client.ListEmailsParams{Limit: client.NewOptInt(5)})
	must(err)
	list, ok := rows.(*client.SearchListListedEmail)
	need(ok, rows)
	taken, err := c.CreateContactImport(ctx, &client.ImportContactsFormMultipart{
		File:       ht.MultipartFile{Name: "people.csv", File: strings.NewReader(os.Getenv("MAILER_CSV"))},
		OnConflict: client.NewOptImportContactsFormMultipartOnConflict(client.ImportContactsFormMultipartOnConflictUpsert),
	}, client.CreateContactImportParams{})
	must(err)
	imported, ok := taken.(*client.ImportRef)
	need(ok, taken)
	out := map[string]any{"sent": sent.ID, "listed": []any{}, "imported": imported.ID}
	for _, row := range list.Data {
		out["listed"] = append(out["listed"].([]any), row.ID)
	}
	must(json.NewEncoder(os.Stdout).Encode(out))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func need(ok bool, answer any) {
	if !ok {
		log.Fatalf("%T %+v", answer, answer)
	}
}
