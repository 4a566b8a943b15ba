// What a pasted text has to be to become a link: an address and nothing else.
const address = /^(https?:\/\/|mailto:)\S+$/i;
export const find = (text) => (address.test(text.trim()) ? [{ type: 'url', isLink: true, value: text, href: text.trim(), start: 0, end: text.length }] : []);
export const tokenize = () => [];
export const registerCustomProtocol = () => {};
export const reset = () => {};
