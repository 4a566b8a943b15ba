// Package manual serves the manual for people who run a server, in HTML that is read
// without a script: one page a Markdown file of this folder, with what it hands to those
// who watch a server, a dashboard for Grafana (grafana.json) and rules for Prometheus'
// alerts (alerts.yml). Only web imports it.
//
// Failure policy: what is not there is answered 404 with the list of what is.
package manual
