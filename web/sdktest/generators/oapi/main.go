// Command oapi sends, lists and imports through a client that oapi-codegen made.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"mime/multipart"
	"net/http"
	"os"

	"generators/oapi/client"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	c, err := client.NewClientWithResponses(os.Getenv("MAILER_URL"), client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("MAILER_KEY"))
		return nil
	}))
	must(err)
	from, subject, text := os.Getenv("MAILER_FROM"), "oapi-codegen", "Hello"
	request := client.SendEmailRequest{From: &from, Subject: &subject, Text: &text, Tags: &[]client.TagRequest{{Name: "made", Value: "by_machine"}}}
	must(request.To.FromSendEmailRequestTo1([]string{"ann@example.net"}))
	sent, err := c.SendEmailWithResponse(ctx, nil, request)
	must(err)
	need(sent.JSON200 != nil, sent.Status(), sent.Body)
	limit := 5
	list, err := c.ListEmailsWithResponse(ctx, &client.ListEmailsParams{Limit: &limit})
	must(err)
	need(list.JSON200 != nil, list.Status(), list.Body)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, err := w.CreateFormFile("file", "people.csv")
	must(err)
	_, err = file.Write([]byte(os.Getenv("MAILER_CSV")))
	must(err)
	must(w.WriteField("on_conflict", string(client.ImportContactsFormOnConflictUpsert)))
	must(w.Close())
	imported, err := c.CreateContactImportWithBodyWithResponse(ctx, nil, w.FormDataContentType(), &form)
	must(err)
	need(imported.JSON201 != nil, imported.Status(), imported.Body)
	// Webhook events have a type too.
	var bounce client.EmailBouncedEvent
	must(json.Unmarshal([]byte(os.Getenv("MAILER_EVENT")), &bounce))
	need(bounce.Data.Bounce != nil, "the event", nil)
	out := map[string]any{"sent": sent.JSON200.Id, "listed": []any{}, "imported": imported.JSON201.Id, "bounced": bounce.Data.Bounce.Message}
	for _, row := range list.JSON200.Data {
		out["listed"] = append(out["listed"].([]any), row.Id)
	}
	must(json.NewEncoder(os.Stdout).Encode(out))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func need(ok bool, status string, body []byte) {
	if !ok {
		log.Fatal(fmt.Sprintf("%s %s", status, body))
	}
}
