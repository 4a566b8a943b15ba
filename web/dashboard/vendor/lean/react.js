// As much of React as it takes to write HTML once: components are functions of what they
// are given, and nothing is ever drawn anew.
export const jsx = (type, props) => ({ type, props: props ?? {} });
export const jsxs = jsx;
export const Fragment = ({ children }) => children;
export const forwardRef = (draw) => Object.assign((props) => draw(props, null), {});
export const createElement = (type, props, ...children) => jsx(type, { ...props, children });

const never = () => {
	throw new Error('nothing here is drawn anew');
};
export { never as useEffect, never as useMemo, never as useRef };
export default { forwardRef, Fragment, createElement };
