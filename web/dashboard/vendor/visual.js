// The engine of Resend's editor: what stands in a mail and how it becomes HTML. Its menus
// are left out: they speak English alone.
export { Editor } from '@tiptap/core';
export { composeReactEmail, EmailNode } from '@react-email/editor/core';
export { Divider, Heading, Link, StarterKit } from '@react-email/editor/extensions';
export { EmailTheming } from '@react-email/editor/plugins';
export { Img, Link as Anchor, speak } from 'react-email';
export { closeHistory } from '@tiptap/pm/history';
export { NodeSelection } from '@tiptap/pm/state';
export { jsx } from 'react/jsx-runtime';
