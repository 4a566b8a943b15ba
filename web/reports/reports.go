package reports

import (
	"cmp"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/rules/mailreport"
	"mailer/app/tenants/reports"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// ReportItem is a report in a list.
type ReportItem struct {
	ID         string `json:"id" format:"uuid"`
	DomainID   string `json:"domain_id" format:"uuid"`
	Kind       string `json:"kind" enum:"dmarc,tls"`
	Origin     string `json:"origin" enum:"mail,upload" doc:"mail: the reporter sent it; upload: the team uploaded it"`
	Counted    bool   `json:"counted" doc:"It is in the sums. A report that came by mail is, if its reporter is authenticated and this server sent mail of the domain in its period"`
	NotCounted string `json:"not_counted,omitempty" doc:"Why it is not counted, in a sentence"`
	Reporter   string `json:"reporter" doc:"The name of the reporter, as the report has it"`
	ReportID   string `json:"report_id" doc:"As the report has it"`
	Begin      string `json:"begin" format:"date-time"`
	End        string `json:"end" format:"date-time"`
	Policy     string `json:"policy,omitempty" enum:"none,quarantine,reject" doc:"The DMARC policy that the reporter found"`
	Messages   int64  `json:"messages" doc:"Of a TLS report: sessions"`
	Passed     int64  `json:"passed"`
	Failed     int64  `json:"failed"`
	CreatedAt  string `json:"created_at" format:"date-time"`
}

func newItem(m *app.MailReport) ReportItem {
	return ReportItem{ID: m.ID, DomainID: m.DomainID, Kind: string(m.Kind), Origin: string(m.Origin), Counted: m.Counted, NotCounted: m.Why, Reporter: m.Name, ReportID: m.ReportID,
		Begin: app.FormatTime(m.Begin), End: app.FormatTime(m.End), Policy: m.Policy, Messages: m.Messages, Passed: m.Passed, Failed: m.Messages - m.Passed, CreatedAt: app.FormatTime(m.CreatedAt)}
}

// domainReportsRecord is what the counted reports about a domain say.
type domainReportsRecord struct {
	Object  string `json:"object" enum:"domain_reports"`
	ID      string `json:"id" format:"uuid" doc:"The id of the domain"`
	Domain  string `json:"domain"`
	Since   string `json:"since" doc:"The first day of the sums, as YYYY-MM-DD"`
	Until   string `json:"until" doc:"YYYY-MM-DD"`
	Policy  string `json:"policy,omitempty" enum:"none,quarantine,reject" doc:"The DMARC policy of the domain at present; absent: none is known"`
	Summary string `json:"summary" doc:"The sentences as one text, in English"`

	Sentences    []mailreport.Sentence `json:"sentences" doc:"With a code and values, for translation"`
	Advice       mailreport.Advice     `json:"advice" doc:"The next step for the DMARC policy"`
	Messages     int64                 `json:"messages"`
	Passed       int64                 `json:"passed" doc:"SPF or DKIM passed for an aligned domain"`
	Failed       int64                 `json:"failed"`
	Quarantined  int64                 `json:"quarantined" doc:"What receivers did, as they report it"`
	Rejected     int64                 `json:"rejected"`
	Uploaded     int64                 `json:"uploaded" doc:"Of messages, those in uploaded reports"`
	Reporters    int                   `json:"reporters"`
	Days         []reportDay           `json:"days" doc:"Days with reports, oldest first"`
	Sources      []reportSource        `json:"sources" doc:"Where the messages came from: those with the most failed messages first; the largest of all_sources"`
	AllSources   int                   `json:"all_sources" doc:"How many sources there are"`
	TLS          tlsReports            `json:"tls"`
	OwnSources   []string              `json:"own_sources" doc:"Addresses and networks that the team named as sending for it"`
	OtherSources []string              `json:"other_sources" doc:"Those that the team named as not its own"`
	Addresses    reportAddresses       `json:"addresses" doc:"Where receivers send reports about the domain: for the DNS"`
	Reports      []ReportItem          `json:"reports" doc:"The latest, also those that are not counted"`
}

type reportDay struct {
	Day         string `json:"day" doc:"YYYY-MM-DD"`
	Messages    int64  `json:"messages"`
	Passed      int64  `json:"passed"`
	Failed      int64  `json:"failed"`
	Quarantined int64  `json:"quarantined"`
	Rejected    int64  `json:"rejected"`
}

type reportSource struct {
	Source      string `json:"source" doc:"An IP address; other: the small ones of a day with very many"`
	ReverseName string `json:"reverse_name,omitempty" doc:"The name that the DNS has for the address, which leads back to the address"`
	Messages    int64  `json:"messages"`
	Passed      int64  `json:"passed"`
	Failed      int64  `json:"failed"`
	SPF         int64  `json:"spf" doc:"Messages that passed SPF for an aligned domain"`
	DKIM        int64  `json:"dkim"`
	Quarantined int64  `json:"quarantined"`
	Rejected    int64  `json:"rejected"`
	Named       string `json:"named,omitempty" enum:"own,not_own" doc:"What the team said of it; absent: nothing"`
}

type tlsReports struct {
	Sessions int64        `json:"sessions" doc:"Of senders with the servers of the domain"`
	Failed   int64        `json:"failed"`
	Days     []tlsDay     `json:"days"`
	Failures []tlsFailure `json:"failures"`
}

type tlsDay struct {
	Day      string `json:"day" doc:"YYYY-MM-DD"`
	Sessions int64  `json:"sessions"`
	Failed   int64  `json:"failed"`
}

type tlsFailure struct {
	Failure  string `json:"failure" doc:"The kind of failure, and the server"`
	Sessions int64  `json:"sessions"`
}

type reportAddresses struct {
	DMARC string `json:"dmarc,omitempty" doc:"For rua= of the DMARC record; absent: this server receives no mail"`
	TLS   string `json:"tls,omitempty" doc:"For rua= of the record of _smtp._tls"`
}

type reportImport struct {
	Object     string          `json:"object" enum:"report_import"`
	Imported   int             `json:"imported"`
	Duplicates int             `json:"duplicates" doc:"Reports that the domain has already"`
	Refused    []reportRefusal `json:"refused" doc:"The first of them, with the reason"`
	Reports    []ReportItem    `json:"reports" doc:"The first of those that were imported"`
}

type reportRefusal struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type nameSourcesRequest struct {
	Own   *[]string `json:"own_sources,omitempty" maxItems:"100" doc:"IP addresses and networks that send for the domain. Replaces those named before"`
	Other *[]string `json:"other_sources,omitempty" maxItems:"100" doc:"Those that do not"`
}

// domainPath is the path parameter of the reports about a domain.
type domainPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the domain"`
}

// Resource implements rest.ResourcePath.
func (p *domainPath) Resource() (kind string, id *string) { return "domain", &p.ID }

type (
	overviewInput struct {
		domainPath
		Days string `query:"days" doc:"How many days, to today; by default a month, at most three"`
	}
	listInput struct {
		rest.PageParams
		Domain string `query:"domain" doc:"The id or the name of a domain; absent: all domains"`
	}
	overviewOutput struct{ Body domainReportsRecord }
	importOutput   struct{ Body reportImport }
)

var tags = []string{"Reports"}

// Routes are the routes of reports. Dir is the folder in which uploads wait.
type Routes struct {
	Service *reports.Service
	Dir     string
}

// Add adds the routes to a handler.
func (r Routes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-reports", Method: http.MethodGet, Path: "/reports",
		Summary: "List the DMARC and TLS reports about domains, newest first", Tags: tags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.list)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-domain-reports", Method: http.MethodGet, Path: "/domains/{id}/reports",
		Summary: "Get what the reports about a domain say: in sentences, by day and by source, with advice", Tags: tags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.overview)
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-domain-reports", Method: http.MethodPatch, Path: "/domains/{id}/reports",
		Summary: "Name the sources in reports that send for a domain, and those that do not. The answer is as for GET", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, r.update)
	upload := rest.RegisterRaw(h, rest.Route{Admin: true, Stream: true, MaxBody: reports.MaxMail}, openapi.Operation{
		OperationID: "import-domain-reports", Method: http.MethodPost, Path: "/domains/{id}/reports",
		Summary: "Upload a report about a domain: DMARC (XML, plain or in gzip or zip), TLS (JSON, plain or in gzip), a mail with a report, or an mbox", Tags: tags,
		Description: "The file is the body itself with its own content type, or the part `file` of a form. Uploaded reports count, and send no events.",
		Errors:      []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, r.upload)
	h.OnDocument(func(*openapi.Document) {
		file := openapi.Binary()
		file.Description = "A report, a mail with one, or an mbox of such mails"
		form := &openapi.Schema{Type: openapi.TypeObject, Required: []string{"file"}, AdditionalProperties: false, Properties: map[string]*openapi.Schema{"file": file}}
		upload.RequestBody = &openapi.RequestBody{Required: true, Content: map[string]*openapi.MediaType{
			rest.FormType:              {Schema: h.Component("ImportReportsForm", form)},
			"application/octet-stream": {Schema: h.Component("ReportFile", openapi.Binary())},
		}}
	})
}

func (r Routes) list(ctx context.Context, key *app.Key, in *listInput) (*rest.ListOutput[ReportItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.List(ctx, key, in.Domain, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newItem), nil
}

func (r Routes) overview(ctx context.Context, key *app.Key, in *overviewInput) (*overviewOutput, error) {
	days := reports.DefaultDays
	if in.Days != "" {
		n, err := strconv.Atoi(in.Days)
		if err != nil || n < 1 || n > reports.MaxDays {
			return nil, app.Invalid("days", "must be a number from 1 to %d", reports.MaxDays)
		}
		days = n
	}
	return r.answer(ctx, key, in.ID, days)
}

func (r Routes) update(ctx context.Context, key *app.Key, in *domainPath, body *nameSourcesRequest) (*overviewOutput, error) {
	own, other := listOf(body.Own), listOf(body.Other)
	if err := r.Service.NameSources(ctx, key, in.ID, own, other); err != nil {
		return nil, err
	}
	return r.answer(ctx, key, in.ID, reports.DefaultDays)
}

// listOf returns a list; nil: it is absent.
func listOf(l *[]string) []string {
	if l == nil {
		return nil
	}
	return append([]string{}, *l...)
}

func (r Routes) answer(ctx context.Context, key *app.Key, id string, days int) (*overviewOutput, error) {
	o, err := r.Service.Overview(ctx, key, id, days)
	if err != nil {
		return nil, err
	}
	return &overviewOutput{newDomainReports(&o)}, nil
}

func newDomainReports(o *reports.Overview) domainReportsRecord {
	out := domainReportsRecord{Object: "domain_reports", ID: o.Domain.ID, Domain: o.Domain.Name, Since: o.Since.Format(time.DateOnly), Until: o.Until.Format(time.DateOnly), Policy: string(o.Policy),
		Summary: mailreport.Text(o.Sentences), Sentences: o.Sentences, Advice: o.Advice, Messages: o.Sum.Messages, Passed: o.Sum.Passed, Failed: o.Sum.Messages - o.Sum.Passed,
		Quarantined: o.Sum.Quarantined, Rejected: o.Sum.Rejected, Uploaded: o.Sum.Uploaded, Reporters: o.Reporters, Days: []reportDay{}, Sources: []reportSource{}, AllSources: o.AllSources,
		TLS:        tlsReports{Sessions: o.TLS.Messages, Failed: o.TLS.Messages - o.TLS.Passed, Days: []tlsDay{}, Failures: []tlsFailure{}},
		OwnSources: append([]string{}, o.Named.Own...), OtherSources: append([]string{}, o.Named.NotOwn...), Addresses: reportAddresses{o.Addresses[app.ReportDMARC], o.Addresses[app.ReportTLS]}, Reports: items(o.Latest)}
	for _, d := range o.Days {
		out.Days = append(out.Days, reportDay{d.Day, d.Messages, d.Passed, d.Messages - d.Passed, d.Quarantined, d.Rejected})
	}
	for i := range o.Sources {
		s := &o.Sources[i]
		out.Sources = append(out.Sources, reportSource{s.Source, s.ReverseName, s.Messages, s.Passed, s.Messages - s.Passed, s.SPF, s.DKIM, s.Quarantined, s.Rejected, string(s.Named)})
	}
	for _, d := range o.TLSDays {
		out.TLS.Days = append(out.TLS.Days, tlsDay{d.Day, d.Messages, d.Messages - d.Passed})
	}
	for i := range o.TLSFailures {
		out.TLS.Failures = append(out.TLS.Failures, tlsFailure{o.TLSFailures[i].Source, o.TLSFailures[i].Messages})
	}
	return out
}

func items(rows []app.MailReport) []ReportItem {
	out := make([]ReportItem, len(rows))
	for i := range rows {
		out[i] = newItem(&rows[i])
	}
	return out
}

func (r Routes) upload(ctx context.Context, x *rest.Exchange, in *domainPath) (*importOutput, error) {
	body, err := x.Stream.Spool(r.Dir)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var done reports.Imported
	if media, _, _ := mime.ParseMediaType(x.RequestHeader.Get("Content-Type")); media == rest.FormType {
		err = r.importForm(ctx, x, in.ID, body, &done)
	} else {
		err = r.Service.Import(ctx, x.Key.TeamID, in.ID, unnamed, body, &done)
	}
	if err != nil {
		return nil, err
	}
	out := reportImport{Object: "report_import", Imported: done.Imported, Duplicates: done.Duplicates, Refused: []reportRefusal{}, Reports: items(done.Reports)}
	for _, f := range done.Refused {
		out.Refused = append(out.Refused, reportRefusal{f.Name, f.Reason})
	}
	return &importOutput{out}, nil
}

// unnamed is the name of a file without one.
const unnamed = "the file"

// importForm imports the part file of a form.
func (r Routes) importForm(ctx context.Context, x *rest.Exchange, domainID string, body io.Reader, done *reports.Imported) error {
	boundary, err := rest.FormBoundary(x.RequestHeader)
	if err != nil {
		return err
	}
	seen, err := rest.ReadForm(body, boundary, func(field string, part *multipart.Part) error {
		if field != "file" {
			return app.Errorf(app.CodeValidation, "%s", rest.UnknownField(rest.MemberName(field)))
		}
		return r.Service.Import(ctx, x.Key.TeamID, domainID, cmp.Or(app.CutText(part.FileName(), 255), unnamed), formPart{part}, done)
	})
	if err == nil && !seen["file"] {
		err = app.Invalid("file", "is required")
	}
	return err
}

// formPart reads a part of a form. What is wrong with the form is an error for the caller.
type formPart struct{ part io.Reader }

// Read implements io.Reader.
func (p formPart) Read(b []byte) (int, error) {
	n, err := p.part.Read(b)
	if err != nil && err != io.EOF {
		err = app.Errorf(app.CodeInvalidPayload, "The request body is not valid multipart/form-data")
	}
	return n, err
}
