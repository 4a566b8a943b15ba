package webhook

import "mailer/app/rules/mailreport"

// ReportWarningData is the data of domain.report_warning: reports about a domain show a fault.
type ReportWarningData struct {
	DomainID string                 `json:"domain_id"`
	Domain   string                 `json:"domain"`
	Warning  mailreport.WarningKind `json:"warning"`
	Message  string                 `json:"message"`   // a sentence with the numbers
	Day      string                 `json:"day"`       // that the report is about, YYYY-MM-DD
	ReportID string                 `json:"report_id"` // of the report in GET /reports that gave the reason
}
