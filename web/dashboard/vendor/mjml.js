// The compiler of MJML, as its makers build it for browsers.
export { default } from 'mjml-browser';
