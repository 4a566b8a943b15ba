// Package manual serves the manual for people who run a server, in HTML that can be
// read without a script, with a search on the server: one page a Markdown file of this folder, with what it hands to those
// who watch a server, a dashboard for Grafana (grafana.json) and rules for Prometheus'
// alerts (alerts.yml). Only web imports it.
//
// Failure policy: what is not there is answered 404 with the list of what is.
package manual
