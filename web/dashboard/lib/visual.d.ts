// The names of visual.js, for the check in CI: its bundle is too long to be read for types.
export const Editor: any;
export const composeReactEmail: any;
export const EmailNode: any;
export const Divider: any;
export const Heading: any;
export const Link: any;
export const StarterKit: any;
export const EmailTheming: any;
export const Img: any;
export const Anchor: any;
export const NodeSelection: any;
export const closeHistory: any;
export const jsx: any;
export const speak: any;
