package sdktest

import (
	"slices"
	"testing"
	"time"

	resendv2 "github.com/resend/resend-go/v2"
	resendv3 "github.com/resend/resend-go/v3"
)

func TestGoV2ClientDomains(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV2ClientDomains)
}

func goV2ClientDomains(t *testing.T, mode compat) {
	ns := newNameServer(t)
	w := newDomainFixture(t, ns, mode.flags()...)
	c, seen := v2Client(t, w.in.url, w.key)
	made, err := c.Domains.Create(&resendv2.CreateDomainRequest{Name: "acme.test", Region: "us-east-1", CustomReturnPath: "bounce"})
	must(t, err)
	other, err := c.Domains.Create(&resendv2.CreateDomainRequest{Name: "other.test"})
	must(t, err)
	if made.Id == "" || made.Name != "acme.test" || made.Status != "not_started" || made.Region != "us-east-1" || len(made.Records) != 3 {
		t.Errorf("created %+v", made)
	}
	if _, err := c.Domains.Update(made.Id, &resendv2.UpdateDomainRequest{Tls: resendv2.Enforced}); err == nil || seen.last.StatusCode != 422 {
		t.Errorf("tls on update: %v, %+v", err, seen.last)
	}
	if changed, err := c.Domains.Update(made.Id, &resendv2.UpdateDomainRequest{OpenTracking: true}); err != nil || changed.Id != made.Id {
		t.Errorf("update: %+v, %v", changed, err)
	}
	for _, r := range made.Records {
		ns.publish(t, dnsRecord{Name: r.Name, Type: r.Type, Value: r.Value})
	}
	if started, err := c.Domains.Verify(made.Id); err != nil || !started {
		t.Errorf("verify: %v, %v", started, err)
	}
	eventually(t, time.Minute, "the domain is verified", func() (bool, string) {
		got, err := c.Domains.Get(made.Id)
		must(t, err)
		return got.Status == "verified" && got.Object == "domain" && got.Id == made.Id && len(got.Records) == 3, got.Status
	})
	limit := 1
	first, err := c.Domains.ListWithOptions(t.Context(), &resendv2.ListOptions{Limit: &limit})
	must(t, err)
	all, err := c.Domains.List()
	must(t, err)
	if len(first.Data) != 1 || first.Data[0].Id != other.Id || !first.HasMore || len(all.Data) != 2 || all.Data[1].Id != made.Id || all.Data[1].Status != "verified" {
		t.Errorf("lists %+v, %+v", first, all)
	}
	if removed, err := c.Domains.Remove(made.Id); err != nil || !removed {
		t.Errorf("remove: %v, %v", removed, err)
	}
	if _, err := c.Domains.Get(made.Id); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("after the end: %v, %+v", err, seen.last)
	}
}

func TestGoV2ClientAPIKeys(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV2ClientAPIKeys)
}

func goV2ClientAPIKeys(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, _ := v2Client(t, w.in.url, w.key)
	made, err := c.ApiKeys.Create(&resendv2.CreateApiKeyRequest{Name: "v2", Permission: "sending_access"})
	must(t, err)
	sender, seen := v2Client(t, w.in.url, made.Token)
	mail := &resendv2.SendEmailRequest{From: "a@example.test", To: []string{"one@example.com"}, Subject: "s", Text: "t"}
	sent, err := sender.Emails.SendWithOptions(t.Context(), mail, &resendv2.SendEmailOptions{IdempotencyKey: "v2"})
	must(t, err)
	again, err := sender.Emails.SendWithOptions(t.Context(), mail, &resendv2.SendEmailOptions{IdempotencyKey: "v2"})
	must(t, err)
	two := *mail
	two.To = []string{"two@example.com"}
	batch, err := sender.Batch.Send([]*resendv2.SendEmailRequest{&two})
	must(t, err)
	if again.Id != sent.Id || len(batch.Data) != 1 || batch.Data[0].Id == sent.Id {
		t.Errorf("sent %+v, again %+v, batch %+v", sent, again, batch)
	}
	if _, err := sender.ApiKeys.List(); err == nil || seen.last.StatusCode != 403 {
		t.Errorf("a sender lists keys: %v", err)
	}
	list, err := c.ApiKeys.List()
	must(t, err)
	limit := 1
	last, err := c.ApiKeys.ListWithOptions(t.Context(), &resendv2.ListOptions{Limit: &limit, After: &made.Id})
	must(t, err)
	if len(list.Data) != 2 || list.Data[0].Id != made.Id || list.Data[0].Name != "v2" || len(last.Data) != 1 || last.Data[0].Id != list.Data[1].Id || last.HasMore {
		t.Errorf("lists %+v, %+v", list, last)
	}
	if removed, err := c.ApiKeys.Remove(made.Id); err != nil || !removed {
		t.Errorf("remove: %v %v", removed, err)
	}
	if _, err := sender.Emails.Send(mail); err == nil || seen.last.Name != "invalid_api_key" {
		t.Errorf("a revoked key sends: %v, %+v", err, seen.last)
	}
	w.wantTo(t, "one@example.com", "two@example.com")
}

func TestGoV2ClientWebhooks(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV2ClientWebhooks)
}

func goV2ClientWebhooks(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true, args: []string{"--webhook-allow", "127.0.0.0/8"}})
	c, seen := v2Client(t, w.in.url, w.key)
	hooks := newReceiver(t)
	made, err := c.Webhooks.Create(&resendv2.CreateWebhookRequest{Endpoint: hooks.URL, Events: []string{"email.sent"}})
	must(t, err)
	second, err := c.Webhooks.Create(&resendv2.CreateWebhookRequest{Endpoint: hooks.URL + "/second", Events: []string{"topic.created"}})
	must(t, err)
	sent, err := c.Emails.Send(&resendv2.SendEmailRequest{From: "a@example.test", To: []string{"one@example.com"}, Subject: "s", Text: "t"})
	must(t, err)
	r := hooks.wait(t, "email.sent", 1)
	verify := func(body, secret string) error {
		calls.note(goV2Client, "Webhooks.Verify")
		return c.Webhooks.Verify(&resendv2.VerifyWebhookOptions{Payload: body, WebhookSecret: secret, Headers: resendv2.WebhookHeaders{
			Id: r.header.Get("svix-id"), Timestamp: r.header.Get("svix-timestamp"), Signature: r.header.Get("svix-signature"),
		}})
	}
	if err := verify(r.body, made.SigningSecret); err != nil {
		t.Errorf("a good signature: %v", err)
	}
	if verify(r.body+" ", made.SigningSecret) == nil || verify(r.body, second.SigningSecret) == nil {
		t.Errorf("a changed body or a foreign secret passes, for %s", sent.Id)
	}
	status := "disabled"
	if changed, err := c.Webhooks.Update(made.Id, &resendv2.UpdateWebhookRequest{Status: &status, Events: []string{"email.bounced"}}); err != nil || changed.Id != made.Id {
		t.Errorf("update: %+v, %v", changed, err)
	}
	got, err := c.Webhooks.Get(made.Id)
	must(t, err)
	if got.Status != "disabled" || got.Endpoint != hooks.URL || !slices.Equal(got.Events, []string{"email.bounced"}) || got.SigningSecret != made.SigningSecret {
		t.Errorf("get: %+v", got)
	}
	limit := 1
	page, err := c.Webhooks.ListWithOptions(t.Context(), &resendv2.ListOptions{Limit: &limit})
	must(t, err)
	all, err := c.Webhooks.List()
	must(t, err)
	if len(page.Data) != 1 || page.Data[0].Id != second.Id || !page.HasMore || len(all.Data) != 2 || all.Data[1].Status != "disabled" {
		t.Errorf("lists %+v, %+v", page, all)
	}
	if removed, err := c.Webhooks.Remove(made.Id); err != nil || !removed.Deleted || removed.Id != made.Id {
		t.Errorf("remove: %+v, %v", removed, err)
	}
	if _, err := c.Webhooks.Get(made.Id); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("after the end: %v", err)
	}
}

func TestGoV3ClientVocabulary(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientVocabulary)
}

func goV3ClientVocabulary(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, seen := v3Client(t, w.in.url, w.key)
	limit := 1
	page := &resendv3.ListOptions{Limit: &limit}
	checkGoProperties(t, c, seen, page)
	checkGoTopics(t, c, page)
	checkGoSegments(t, c, page)
	checkGoAudiences(t, c.Audiences) //lint:ignore SA1019 those who still use them are to be served
	imported, err := c.Contacts.Imports.Create(&resendv3.CreateContactImportRequest{File: []byte("email\nzoe@example.com\n")})
	must(t, err)
	eventually(t, time.Minute, "the import is in the list of those that are complete", func() (bool, string) {
		list, err := c.Contacts.Imports.List(&resendv3.ListContactImportsOptions{Status: "completed", Limit: &limit})
		must(t, err)
		return len(list.Data) == 1 && list.Data[0].Id == imported.Id && list.Data[0].Counts.Created == 1, "not yet"
	})
}

func checkGoProperties(t *testing.T, c *resendv3.Client, seen *recorder, page *resendv3.ListOptions) {
	t.Helper()
	plan, err := c.ContactProperties.Create(&resendv3.CreateContactPropertyRequest{Key: "plan", Type: "string", FallbackValue: "free"})
	must(t, err)
	age, err := c.Contacts.Properties.Create(&resendv3.CreateContactPropertyRequest{Key: "age", Type: "number", FallbackValue: 7})
	must(t, err)
	changed, err := c.ContactProperties.Update(&resendv3.UpdateContactPropertyRequest{Id: plan.Id, FallbackValue: "none"})
	must(t, err)
	properties, err := c.ContactProperties.List()
	must(t, err)
	first, err := c.ContactProperties.ListWithOptions(t.Context(), page)
	must(t, err)
	if changed.Id != plan.Id || len(properties.Data) != 2 || properties.Data[0].FallbackValue != 7.0 || properties.Data[1].FallbackValue != "none" ||
		len(first.Data) != 1 || first.Data[0].Id != age.Id || !first.HasMore {
		t.Errorf("properties %+v, %+v", properties, first)
	}
	if removed, err := c.ContactProperties.Remove(age.Id); err != nil || !removed.Deleted || removed.Id != age.Id {
		t.Errorf("remove: %+v, %v", removed, err)
	}
	if _, err := c.ContactProperties.Get(age.Id); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("a removed property: %v", err)
	}
}

func checkGoTopics(t *testing.T, c *resendv3.Client, page *resendv3.ListOptions) {
	t.Helper()
	topic, err := c.Topics.Create(&resendv3.CreateTopicRequest{Name: "News", DefaultSubscription: resendv3.DefaultSubscriptionOptOut})
	must(t, err)
	_, err = c.Topics.Update(topic.Id, &resendv3.UpdateTopicRequest{Name: "Old news", Description: "What was new"})
	must(t, err)
	gotTopic, err := c.Topics.Get(topic.Id)
	must(t, err)
	topics, err := c.Topics.List(page)
	must(t, err)
	if gotTopic.Name != "Old news" || gotTopic.Description != "What was new" || gotTopic.DefaultSubscription != resendv3.DefaultSubscriptionOptOut || len(topics.Data) != 1 || topics.Data[0].Id != topic.Id {
		t.Errorf("topic %+v, list %+v", gotTopic, topics)
	}
}

func checkGoSegments(t *testing.T, c *resendv3.Client, page *resendv3.ListOptions) {
	t.Helper()
	audiences := c.Audiences //lint:ignore SA1019 see checkGoAudiences
	one, err := c.Segments.Create(&resendv3.CreateSegmentRequest{Name: "One"})
	must(t, err)
	two, err := audiences.Create(&resendv3.CreateAudienceRequest{Name: "Two"})
	must(t, err)
	gotOne, err := c.Segments.Get(one.Id)
	must(t, err)
	gotTwo, err := audiences.Get(two.Id)
	must(t, err)
	segments, err := c.Segments.List()
	must(t, err)
	listed, err := audiences.List()
	must(t, err)
	firstSegment, err := c.Segments.ListWithOptions(t.Context(), page)
	must(t, err)
	firstAudience, err := audiences.ListWithOptions(t.Context(), page)
	must(t, err)
	if gotOne.Name != "One" || gotTwo.Name != "Two" || len(segments.Data) != 2 || !slices.Equal(segments.Data, listed.Data) || segments.Data[1].Id != one.Id ||
		len(firstSegment.Data) != 1 || !firstSegment.HasMore || !slices.Equal(firstSegment.Data, firstAudience.Data) {
		t.Errorf("segments %+v, audiences %+v, first %+v %+v", segments, listed, firstSegment, firstAudience)
	}
	if removed, err := audiences.Remove(two.Id); err != nil || !removed.Deleted || removed.Id != two.Id {
		t.Errorf("remove: %+v, %v", removed, err)
	}
}

// checkGoAudiences goes the other way through the audiences of v3, which are its
// segments.
//
//lint:ignore SA1019 those who still use them are to be served
func checkGoAudiences(t *testing.T, audiences resendv3.AudiencesSvc) {
	t.Helper()
	made, err := audiences.CreateWithContext(t.Context(), &resendv3.CreateAudienceRequest{Name: "Three"})
	must(t, err)
	got, err := audiences.GetWithContext(t.Context(), made.Id)
	must(t, err)
	list, err := audiences.ListWithContext(t.Context())
	must(t, err)
	if got.Name != "Three" || len(list.Data) != 2 || list.Data[0].Id != made.Id {
		t.Errorf("got %+v, list %+v", got, list)
	}
	if removed, err := audiences.RemoveWithContext(t.Context(), made.Id); err != nil || !removed.Deleted {
		t.Errorf("remove: %+v, %v", removed, err)
	}
}
