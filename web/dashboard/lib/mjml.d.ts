// The names of mjml.js, for the check in CI: its bundle is too long to be read for types.
declare const mjml: any;
export default mjml;
