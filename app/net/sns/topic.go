package sns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// topic is a parsed topic ARN.
type topic struct {
	ARN    string
	region string
	suffix string // domain of the partition's hosts
}

var arnShape = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):sns:([a-z]{2}(?:-[a-z]+)+-[0-9]{1,2}):[0-9]{12}:([A-Za-z0-9_-]{1,256}(?:\.fifo)?)$`)

// parseTopic parses the ARN of a topic.
func parseTopic(arn string) (topic, error) {
	m := arnShape.FindStringSubmatch(arn)
	if m == nil {
		return topic{}, fmt.Errorf("%q is not the ARN of an SNS topic, like arn:aws:sns:us-east-1:123456789012:name", arn)
	}
	t := topic{ARN: arn, region: m[2], suffix: ".amazonaws.com"}
	if m[1] == "aws-cn" {
		t.suffix = ".amazonaws.com.cn"
	}
	return t, nil
}

// host returns the SNS host of the topic's region, which serves its certificates and its API.
func (t topic) host() string { return "sns." + t.region + t.suffix }

var certificatePath = regexp.MustCompile(`^/[A-Za-z0-9_-]{1,200}\.pem$`)

// checkCertificateURL accepts only the URL of a certificate file on the SNS host of the topic's
// region. The whole text is compared, so that two URL parsers can't disagree. Error: *app.Error.
func (t topic) checkCertificateURL(raw string) error {
	path, ok := strings.CutPrefix(raw, "https://"+t.host())
	if !ok || !certificatePath.MatchString(path) {
		return forged("the certificate is not at https://%s", t.host())
	}
	return nil
}

// apiTimeout is the timeout of requests to Amazon.
const apiTimeout = 10 * time.Second

// confirm confirms a subscription with the API of the topic's region. The SubscribeURL of the
// message is never requested.
func (r *Receiver) confirm(ctx context.Context, t topic, token string) error {
	query := url.Values{"Action": {"ConfirmSubscription"}, "Version": {"2010-03-31"}, "TopicArn": {t.ARN}, "Token": {token}}
	if _, err := r.get(ctx, "https://"+t.host()+"/?"+query.Encode()); err != nil {
		return fmt.Errorf("confirm the subscription of %s: %w", t.ARN, err)
	}
	return nil
}

// maxAnswer is the maximum number of bytes read of Amazon's answers.
const maxAnswer = 64 << 10

// get fetches a URL from Amazon. Errors name only the host, since the query contains the token.
func (r *Receiver) get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := r.client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("ask %s: %w", req.URL.Host, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", req.URL.Host, err)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answered %d", req.URL.Host, res.StatusCode)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s is too long", req.URL.Host)
	}
	return body, nil
}
