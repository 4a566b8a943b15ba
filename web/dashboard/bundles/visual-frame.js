import{composeReactEmail,Editor,speak}from"./lib/visual.js";var v,We,we,U,ge,fe,qe,re,Le,Se,be,Ie,Z=Symbol.for("pv"),se={},ce=[],kt=/^m(i|n|o|s|text|space)$/,xe=Array.isArray,ae=ce.slice,M=Object.assign;function F(t){t&&
t.parentNode&&t.remove()}function K(t,e,n){var i,r,_,o={},u=arguments.length;for(_ in e)_=="key"?i=e[_]:_=="ref"&&typeof t!="function"?r=e[_]:o[_]=e[_];return u>
2&&(o.children=u>3?ae.call(arguments,2):n),q(t,o,i,r,null)}function q(t,e,n,i,r){var _={type:t,props:e,key:n,ref:i,__k:null,__:null,__b:0,__e:null,__c:null,constructor:Z,__v:r||++We,__i:-1,__u:0};return!r&&v.vnode&&v.vnode(
_),_}function O(t){return t.children}function L(t,e){this.props=t,this.context=e,this.__g=0}function A(t,e){if(e==null)return t.__&&A(t.__,t.__i+1);for(var n;e<
t.__k.length;e++)if((n=t.__k[e])&&n.__e)return n.__e;return typeof t.type!="function"||t.props.__P?null:A(t)}function St(t){var e,n=t.__v,i=n.__e,r=[],_=[],o=t.
__P;o&&((e=M({constructor:Z},n)).__v=n.__v+1,v.vnode&&v.vnode(e),Ce(o,e,n,t.__n,o.namespaceURI,32&n.__u?[i]:null,r,i||A(n),32&n.__u,_),e.__v=n.__v,e.__.__k[e.__i]=
e,Ze(r,e,_),n.__=n.__e=null,e.__e!=i&&Ve(e))}function Ve(t){if((t=t.__)&&t.__c&&!t.props.__P)return t.__e=null,t.__k.some(function(e){return e&&(t.__e=e.__e)}),
Ve(t)}function ke(t){(8&t.__g||(t.__g|=8,U.push(t),fe++))&&ge==v.debounceRendering||((ge=v.debounceRendering)||queueMicrotask)(Be)}function Be(){try{for(var t,e=1;U.
length;)U.length>e&&U.sort(qe),t=U.shift(),e=U.length,8&t.__g&&St(t)}finally{(fe=U.length)&&(ge||queueMicrotask)(Be)}}function ze(t,e,n,i,r,_,o,u,c,a,s){var d,l,
f,p,x,m,g=i.__k||ce,h=e.length;for(c=xt(n,e,g,c,h),d=0;d<h;d++)(f=n.__k[d])!=null&&(l=~f.__i&&g[f.__i]||se,f.__i=d,m=Ce(t,f,l,r,_,o,u,c,a,s),p=f.__e,(l.ref!=f.ref||
8&l.__u)&&(l.ref&&Pe(l.ref,null,f,l),f.ref&&s.push(f.ref,f.__c||p,f)),x=x||p,4&f.__u?(c=Ge(f,c,t,!l.__v),l.__e&&(l.__e=null)):typeof f.type=="function"&&m!==void 0?
c=m:p&&(c=p.nextSibling),f.__u&=-21);return n.__e=x,c}function xt(t,e,n,i,r){var _,o,u,c,a,s,d,l,f,p=n.length,x=p,m=0,g=0,h=t.__k=Array(r);for(_=0;_<r;_++)(o=e[_])!=
null&&typeof o!="boolean"&&typeof o!="function"?(typeof o!="object"||o.constructor===String?o=h[_]=q(null,o):xe(o)?o=h[_]=q(O,{children:o}):o.constructor===Z&&o.
__b?o=h[_]=q(o.type,o.props,o.key,o.ref,o.__v):h[_]=o,c=_+m,o.__=t,o.__b=t.__b+1,u=null,~(a=o.__i=Ct(o,n,c,x))&&(x--,(u=n[a])&&(u.__u|=2)),u&&u.__v?(o.__u|=16,a==
c-1?m--:a==c+1?m++:a!=c&&(a>c?m--:m++,g=1)):(~a||(r>p?m--:r<p&&m++),typeof o.type!="function"&&(o.__u|=4))):h[_]=null;if(g){for(s=[],d=[],_=0;_<r;_++)if((o=h[_])&&
16&o.__u){for(m=0,l=s.length;m<l;)s[f=m+l>>1]<o.__i?m=f+1:l=f;s[m]=o.__i,d[_]=m+1}for(m=s.length;_--;)d[_]&&(d[_]==m?m--:h[_].__u|=4)}if(x)for(_=0;_<p;_++)!(u=n[_])||
2&u.__u||(u.__e==i&&(i=A(u)),Te(u,u));return i}function Ge(t,e,n,i){var r,_,o,u;if(typeof t.type=="function"){if(t.props.__P)return e;if(r=t.__k)for(_=0;_<r.length;_++)
r[_]&&(r[_].__=t,e=Ge(r[_],e,n,!1));return e}for(e&&!e.parentNode&&(e=A(t))&&!e.parentNode&&(e=null),o=t.__e,u=e;u&&u.nodeType==8;)u=u.nextSibling;for(o!=u&&(!i&&
n.moveBefore&&o.parentNode?n.moveBefore(o,e):n.insertBefore(o,e||null)),e=o;(e=e&&e.nextSibling)&&e.nodeType==8&&!e.data.startsWith("$s"););return e}function Ct(t,e,n,i){
var r,_=t.key,o=t.type,u=e[n],c=u&&!(2&u.__u);if(u===null&&_==null||c&&_==u.key&&o==u.type)return n;if(i>(c?1:0)){for(r=n-1;r>=0;r--)if((u=e[r])&&!(2&u.__u)&&_==
u.key&&o==u.type)return r;for(r=n+1;r<e.length;r++)if((u=e[r])&&!(2&u.__u)&&_==u.key&&o==u.type)return r}return-1}function Re(t,e,n){n==null&&(n=""),e[0]=="-"?t.
setProperty(e,n):t[e]=n}function oe(t,e,n,i,r){var _,o;if(e=="style")if(typeof n=="string")t.style.cssText=n;else{if(typeof i=="string"&&(t.style.cssText=i=""),
i)for(e in i)n&&e in n||Re(t.style,e);if(n)for(e in n)i&&n[e]==i[e]||Re(t.style,e,n[e])}else if(e[0]=="o"&&e[1]=="n")typeof n!="function"&&(n=null),typeof i!="f\
unction"&&(i=null),(t.__e||(t.__e={}))[e]=n,n&&i||(o=be[e]||(be[e]=Pt(e)),(t.__a||(t.__a={}))[e]=Se,_=e!=(e=e.replace(Le,"$1")),(e=e.slice(2))[0]<"a"&&(e=e.toLowerCase()),
n?t.addEventListener(e,o,_):t.removeEventListener(e,o,_));else{if(r=="http://www.w3.org/2000/svg")e=e.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(e!=
"width"&&e!="height"&&e!="href"&&e!="list"&&e!="form"&&e!="tabIndex"&&e!="download"&&e!="rowSpan"&&e!="colSpan"&&e!="role"&&e!="popover"&&e in t)try{return void(t[e]=
n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&e[4]!="-"?t.removeAttribute(e):t.setAttribute(e,e=="popover"&&n==1?"":n)}}function Pt(t){return function(e){
var n=this.__e;if(n){if(n=n[t],e[re]==null)e[re]=Se++;else if(e[re]<this.__a[t])return;return n(v.event?v.event(e):e)}}}function Ce(t,e,n,i,r,_,o,u,c,a){var s,d,
l,f,p,x,m,g,h,C,k,ye,De,_e,H,Fe,$,D,T=e.type;if(e.constructor!==Z)return null;128&n.__u&&(c=32&n.__u,s=n.__c.__z)&&(e.__u|=c,d=_=[],s.nodeType==8?u=ue(s,_):_.push(
s),u=_[0]||u),(s=v.__b)&&s(e);e:if(typeof T=="function"){l=o.length;try{if(g=e.props,h=(s=T.prototype)&&s.render,C=(s=T.contextType)&&i[s.__c],k=s?C?C.props.value:
s.__:i,(f=n.__c)?(e.__c=f,2&f.__g&&(f.__g|=1)):(h?e.__c=f=new T(g,k):(e.__c=f=new L(g,k),f.constructor=T,f.render=Et),C&&C.sub(f),f.state||(f.state={}),f.__n=i,
f.__g|=8,f.__h=[],f.__k=[]),h&&(f.__s||(f.__s=f.state),T.getDerivedStateFromProps&&(f.__s==f.state&&(f.__s=M({},f.__s)),M(f.__s,T.getDerivedStateFromProps(g,f.__s)))),
p=f.props,x=f.state,f.__v=e,n.__c){if(g!==p&&h&&!T.getDerivedStateFromProps&&f.componentWillReceiveProps&&f.componentWillReceiveProps(g,k),e.__v==n.__v&&!(8&f.__g)||
!(4&f.__g)&&f.shouldComponentUpdate&&f.shouldComponentUpdate(g,f.__s,k)===!1){e.__v!=n.__v&&(f.props=g,f.state=f.__s,f.__g&=-9),e.__e=n.__e,e.__k=n.__k,e.__k.some(
function(P){P&&(P.__=e)}),ce.push.apply(f.__h,f.__k),f.__k=[],f.__h.length&&o.push(f),u=A(n);break e}f.componentWillUpdate&&f.componentWillUpdate(g,f.__s,k),h&&
f.componentDidUpdate&&f.__h.push(function(){f.componentDidUpdate(p,x,m)})}else h&&!T.getDerivedStateFromProps&&f.componentWillMount&&f.componentWillMount(),h&&f.
componentDidMount&&f.__h.push(f.componentDidMount);f.context=k,f.props=g,f.__P=t,f.__g&=-5,ye=v.__r,De=h?25:0;do f.__g&=-9,ye&&ye(e),s=f.render(f.props,f.state=
f.__s,f.context);while(8&f.__g&&++De<25);h&&(ce.push.apply(f.__h,f.__k),f.__k=[]),f.state=f.__s,f.getChildContext&&(i=M({},i,f.getChildContext())),h&&n.__c&&f.getSnapshotBeforeUpdate&&
(m=f.getSnapshotBeforeUpdate(p,x)),_e=s&&s.type===O&&s.key==null?s.props.children:s,g.__P&&(s=u,r=(t=g.__P).namespaceURI,c=_=null,n.props&&n.props.__P!=t&&(n.__k.
some(function(P){P&&Te(P,P)}),n.__k=null),u=n.__k?A(n,0):null),u=ze(t,xe(_e)?_e:[_e],e,n,i,r,_,o,u,c,a),g.__P&&(e.__e=null,u=s),e.__u&=-161,d&&d.some(F),f.__h.length&&
o.push(f),1&f.__g&&(f.__g&=-4)}catch(P){if(o.length=l,e.__v=null,c||_)if(P&&P.then){if(e.__u|=128|c,_){for(~($=_.indexOf(u||void 0))||($=_.length);(D=_[$-1])&&D.
nodeType==8;)$--;for(;$<_.length;$++)if(D=_[$])if(_[$]=null,H){if(D==Fe)break}else{if(D.nodeType!=8)break;D.data.startsWith("$s")&&(Fe=ue(H=D))}}if(!H){for(;u&&
u.nodeType==8&&u.nextSibling;)u=u.nextSibling;H=u}(s=ue(H=e.__c.__z||(e.__c.__z=H)))?(e.__e=H,u=s):e.__e=u,u=u&&u.nextSibling}else _&&_.some(F);else e.__e=n.__e;
e.__k||(e.__k=n.__k||[]),P&&P.then||Je(e),v.__e(P,e,n)}}else u=e.__e=Tt(n.__e,e,n,i,r,_,o,c,a,t);return(s=v.diffed)&&s(e),u}function ue(t,e){if(t&&t.nodeType==8&&
t.data.startsWith("$s"))for(var n=1;t=t.nextSibling;){if(t.nodeType==8){if(t.data.startsWith("$s"))n++;else if(t.data.startsWith("/$s")&&!--n)return t}e&&e.push(
t)}}function Je(t){t&&(t.__c&&(t.__c.__g|=4),t.__k&&t.__k.some(Je))}function Ze(t,e,n){for(var i=0;i<n.length;)Pe(n[i++],n[i++],n[i++]);v.__c&&v.__c(e,t),t.some(
function(r){try{t=r.__h,r.__h=[],t.some(function(_){_.call(r)})}catch(_){v.__e(_,r.__v)}})}function Tt(t,e,n,i,r,_,o,u,c,a){var s,d,l,f,p,x,m,g,h=n.props||se,C=e.
props,k=e.type;if(k=="svg"?r="http://www.w3.org/2000/svg":k=="math"?r="http://www.w3.org/1998/Math/MathML":r||(r="http://www.w3.org/1999/xhtml"),_){for(s=0;s<_.
length;s++)if((p=_[s])&&(k?p.localName==k:p.nodeType==3)){t=p,_[s]=null;break}}if(!t){if(g=a.ownerDocument||document,!k)return g.createTextNode(C);t=g.createElementNS(
r,k,C.is?C:a),u&&(v.__m&&v.__m(e,_),u=!1),_=null}if(k){if(a=k=="template"&&t.content||t,_=k=="textarea"&&C.defaultValue!=null?null:_&&ae.call(a.childNodes),!u&&
_)for(h={},s=0;s<t.attributes.length;s++)h[(p=t.attributes[s]).name]=p.value;for(s in h)p=h[s],s=="dangerouslySetInnerHTML"?l=p:s=="children"||s in C||s=="value"&&
"defaultValue"in C||s=="checked"&&"defaultChecked"in C||oe(t,s,null,p,r);for(s in C)p=C[s],s=="children"?f=p:s=="dangerouslySetInnerHTML"?d=p:s=="value"?x=p:s==
"checked"?m=p:u&&typeof p!="function"||h[s]===p||oe(t,s,p,h[s],r);d?(u||l&&(d.__html==l.__html||d.__html==t.innerHTML)||(t.innerHTML=d.__html),e.__k=[]):(l&&(t.
textContent=""),(k=="foreignObject"||r=="http://www.w3.org/1998/Math/MathML"&&kt.test(k))&&(r="http://www.w3.org/1999/xhtml"),ze(a,xe(f)?f:[f],e,n,i,r,_,o,_?_[0]:
n.__k&&A(n,0),u,c),_&&_.some(F)),u&&k!="textarea"||(s="value",k=="progress"&&x==null?t.removeAttribute(s):x==null||x===t[s]&&(k!="progress"||x)||oe(t,s,x,h[s],r),
s="checked",m!=null&&m!=t[s]&&oe(t,s,m,h[s],r))}else h===C||u&&t.data==C||(t.data=C);return t}function Pe(t,e,n,i){try{typeof t=="function"?e?e.__x=t(e)||1:i&&(i=
i.__c||i.__e)&&(e=i.__x)&&(i.__x=null,typeof e=="function"?e():t(null)):t.current=e}catch(r){v.__e(r,n)}}function Te(t,e,n){var i,r,_,o;if(v.unmount&&v.unmount(
t),!(i=t.ref)||i.current&&i.current!=t.__e||Pe(i,null,e,t),i=t.__c){if(i.componentWillUnmount)try{i.componentWillUnmount()}catch(u){v.__e(u,e)}i.__P=i.__n=null}
if(i=t.__k)for(o=0;o<i.length;o++)i[o]&&Te(i[o],e,typeof t.type!="function"||n&&!t.props.__P);!n&&(i=t.__c)&&(i=i.__z)&&(r=ue(i,_=[]))&&(i==t.__e&&_.some(F),F(r),
F(i)),n||F(t.__e),t.__e=t.__c=t.__=null}function Et(t,e,n){return this.constructor(t,n)}function Nt(t,e){var n,i,r,_;v.__&&v.__(t,e),e.nodeType==9&&(e=e.documentElement),
i=(n=t&&32&t.__u)?null:e.__k,e.__k=q(O,{children:[t]}),r=[],_=[],Ce(e,e.__k,i||se,se,e.namespaceURI,i?null:e.firstChild?ae.call(e.childNodes):null,r,i?i.__e:e.firstChild,
n,_),Ze(r,e.__k,_),e.__k.props.children=null}v={__e:function(t,e,n,i){for(var r,_,o;e=e.__;)if((r=e.__c)&&!(1&r.__g)){r.__g|=4;try{if((o=(_=r.constructor)&&_.getDerivedStateFromError)&&r.setState(_.getDerivedStateFromError(
t)),r.componentDidCatch&&(r.componentDidCatch(t,i||{}),o=1),o&&8&r.__g)return void(r.__g|=2)}catch(u){t=u}}throw fe=0,t}},We=0,we=function(t){return t!=null&&t.
constructor===Z},L.prototype.setState=function(t,e){var n=this.__s;n&&n!=this.state||(n=this.__s=M({},this.state)),typeof t=="function"&&(t=t(M({},n),this.props)),
t&&(M(n,t),this.__v&&(e&&this.__k.push(e),ke(this)))},L.prototype.forceUpdate=function(t){this.__v&&(this.__g|=4,t&&this.__h.push(t),ke(this))},L.prototype.render=
O,U=[],fe=0,qe=function(t,e){return t.__v.__b-e.__v.__b},re=Symbol(),Le=/(PointerCapture)$|Capture$/i,Se=0,be={},Ie=0;var j,b,Ee,Ke,Ne=Object.is,X=0,ot=[],$e=[],
w=v,Qe=w.__b,Xe=w.__r,Ye=w.diffed,et=w.__c,tt=w.unmount,nt=w.__;function I(t,e){w.__h&&w.__h(b,t,X||e),X=0;var n=b.__H||(b.__H={__:[],__h:[]});return t>=n.__.length&&
n.__.push({}),n.__[t]}function Ut(t){return X=1,rt(ut,t)}function rt(t,e,n){var i=I(j++,2);if(i.t=t,!i.__c&&(i.__=[n?n(e):ut(void 0,e),function(_){var o=(i.__N||
i.__)[0],u=i.t(o,_);Ne(o,u)||(i.__N=[u,i.__[1]],i.__c.setState({}))}],i.__c=b,!b.__f)){b.__f=!0;var r=b.shouldComponentUpdate;b.shouldComponentUpdate=function(_,o,u){
var c=this.__H;if(!c)return!0;var a=!1,s=this.props!=_;if(c.__.some(function(l){l.__N&&(a=!0,Ne(l.__[0],l.__N[0])||(s=!0))}),r){var d=r.call(this,_,o,u);return a?
d||s:d}return!a||s}}return i.__}function Me(t,e){var n=I(j++,3);!w.__s&&Ae(n.__H,e)&&(n.__P=!0,n.__=t,n.u=e,b.__H.__h.push(n))}function R(t,e){var n=I(j++,7);return Ae(n.__H,e)&&(n.__=t(),n.__H=e),n.__}function Ht(){var t;do{for(;t=$e.shift();)try{Q(t)}catch(n){w.__e(n,{__:(t=t.__P)&&t.__v})}for(;t=ot.shift();){var e=t.__H;if(t.__P&&e)try{e.__h.some(Q),e.__h.some(
Ue),e.__h=[]}catch(n){e.__h=[],w.__e(n,t.__v)}}}while($e.length)}w.__b=function(t){b=null,Qe&&Qe(t)},w.__=function(t,e){t&&e.__k&&e.__k.__m&&(t.__m=e.__k.__m),nt&&
nt(t,e)},w.__r=function(t){Xe&&Xe(t),j=0;var e=(b=t.__c).__H;e&&(Ee==b?b.__h=[]:(e.__h.some(Q),e.__h.some(Ue),j=0),e.__h=[],e.__.some(function(n){n.__N&&(n.__=n.
__N),n.u=n.__N=void 0})),Ee=b},w.diffed=function(t){Ye&&Ye(t);var e=t.__c;e&&e.__H&&(e.__H.__h.length&&_t(ot.push(e)),e.__H.__.some(function(n){n.u&&(n.__H=n.u)})),
Ee=b=null},w.__c=function(t,e){e.some(function(n){try{n.__h.some(Q),n.__h=n.__h.filter(function(i){return!i.__||Ue(i)})}catch(i){n.__h=[function(){throw i}]}}),
et&&et(t,e)},w.unmount=function(t){tt&&tt(t);var e,n,i=t.__c;i&&i.__H&&(i.__H.__.some(function(r){try{if(r.__P&&r.__c){if(n===void 0){for(n=t.__;n&&(!n.__c||!n.
__c.__P);)n=n.__;n=n&&n.__c}r.__P=n,_t($e.push(r))}else Q(r)}catch(_){e=_}}),i.__H=void 0,e&&w.__e(e,i.__v))};var it=typeof requestAnimationFrame=="function";function Dt(t){
var e,n=function(){clearTimeout(i),it&&cancelAnimationFrame(e),setTimeout(t)},i=setTimeout(n,35);it&&(e=requestAnimationFrame(n))}function _t(t){t!=1&&Ke==w.requestAnimationFrame||
((Ke=w.requestAnimationFrame)||Dt)(Ht)}function Q(t){var e=b,n=t.__c;typeof n=="function"&&(t.__c=void 0,n()),b=e}function Ue(t){var e=b;t.__c=t.__(),b=e}function Ae(t,e){
return!t||t.length!=e.length||e.some(function(n,i){return!Ne(n,t[i])})}function ut(t,e){return typeof e=="function"?e(t):e}var Ft=Symbol.for("preact-signals");function de(){
if(E>1)E--;else{var t,e=!1;for((function(){var r=he;for(he=void 0;r!==void 0;){var _=r.S;if(_.v===r.v)for(var o=_.t;o!==void 0;o=o.x)o.i===r.i&&(o.i=_.i);r=r.o}})();ee!==
void 0;){var n=ee;for(ee=void 0,pe++;n!==void 0;){var i=n.u;if(n.u=void 0,n.f&=-3,!(8&n.f)&&st(n))try{n.c()}catch(r){e||(t=r,e=!0)}n=i}}if(pe=0,E--,e)throw t}}function te(t){
if(E>0)return t();Oe=++Rt,E++;try{return t()}finally{de()}}var Y,y=void 0;function V(t){var e=y,n=Y;y=void 0,Y=void 0;try{return t()}finally{y=e,Y=n}}var ee=void 0,
E=0,pe=0,Rt=0,Oe=0,he=void 0,ve=0;function ft(t){if(y!==void 0){var e=t.n;if(e===void 0||e.t!==y)return e={i:0,S:t,p:y.s,n:void 0,t:y,e:void 0,x:void 0,r:e},y.s!==
void 0&&(y.s.n=e),y.s=e,t.n=e,32&y.f&&t.S(e),e;if(e.i===-1)return e.i=0,e.n!==void 0&&(e.n.p=e.p,e.p!==void 0&&(e.p.n=e.n),e.p=y.s,e.n=void 0,y.s.n=e,y.s=e),e}}
function S(t,e){this.v=t,this.i=0,this.n=void 0,this.t=void 0,this.l=0,this.W=e?.watched,this.Z=e?.unwatched,this.name=e?.name}S.prototype.brand=Ft;S.prototype.
h=function(){return!0};S.prototype.S=function(t){var e=this,n=this.t;n!==t&&t.e===void 0&&(t.x=n,this.t=t,n!==void 0?n.e=t:V(function(){var i;(i=e.W)==null||i.call(
e)}))};S.prototype.U=function(t){var e=this;if(this.t!==void 0){var n=t.e,i=t.x;n!==void 0&&(n.x=i,t.e=void 0),i!==void 0&&(i.e=n,t.x=void 0),t===this.t&&(this.
t=i,i===void 0&&V(function(){var r;(r=e.Z)==null||r.call(e)}))}};S.prototype.subscribe=function(t){var e=this;return N(function(){var n=e.value;V(function(){return t(
n)})},{name:"sub"})};S.prototype.valueOf=function(){return this.value};S.prototype.toString=function(){return this.value+""};S.prototype.toJSON=function(){return this.
value};S.prototype.peek=function(){var t=this;return V(function(){return t.value})};Object.defineProperty(S.prototype,"value",{get:function(){var t=ft(this);return t!==
void 0&&(t.i=this.i),this.v},set:function(t){if(t!==this.v){if(pe>100)throw new Error("Cycle detected");(function(n){E!==0&&pe===0&&n.l!==Oe&&(n.l=Oe,he={S:n,v:n.
v,i:n.i,o:he})})(this),this.v=t,this.i++,ve++,E++;try{for(var e=this.t;e!==void 0;e=e.x)e.t.N()}finally{de()}}}});function ne(t,e){return new S(t,e)}function st(t){
for(var e=t.s;e!==void 0;e=e.n)if(e.S.i!==e.i||!e.S.h()||e.S.i!==e.i)return!0;return!1}function ct(t){for(var e=t.s;e!==void 0;e=e.n){var n=e.S.n;if(n!==void 0&&
(e.r=n),e.S.n=e,e.i=-1,e.n===void 0){t.s=e;break}}}function at(t){for(var e=t.s,n=void 0;e!==void 0;){var i=e.p;e.i===-1?(e.S.U(e),i!==void 0&&(i.n=e.n),e.n!==void 0&&
(e.n.p=i)):n=e,e.S.n=e.r,e.r!==void 0&&(e.r=void 0),e=i}t.s=n}function W(t,e){S.call(this,void 0,e),this.x=t,this.s=void 0,this.g=ve-1,this.f=4}W.prototype=new S;
W.prototype.h=function(){if(this.f&=-3,1&this.f)return!1;if((36&this.f)==32||(this.f&=-5,this.g===ve))return!0;if(this.g=ve,this.f|=1,this.i>0&&!st(this))return this.
f&=-2,!0;var t=y;try{ct(this),y=this;var e=this.x();(16&this.f||this.v!==e||this.i===0)&&(this.v=e,this.f&=-17,this.i++)}catch(n){this.v=n,this.f|=16,this.i++}return y=
t,at(this),this.f&=-2,!0};W.prototype.S=function(t){if(this.t===void 0){this.f|=36;for(var e=this.s;e!==void 0;e=e.n)e.S.S(e)}S.prototype.S.call(this,t)};W.prototype.
U=function(t){if(this.t!==void 0&&(S.prototype.U.call(this,t),this.t===void 0)){this.f&=-33;for(var e=this.s;e!==void 0;e=e.n)e.S.U(e)}};W.prototype.N=function(){
if(!(2&this.f)){this.f|=6;for(var t=this.t;t!==void 0;t=t.x)t.t.N()}};Object.defineProperty(W.prototype,"value",{get:function(){if(1&this.f)throw new Error("Cyc\
le detected");var t=ft(this);if(this.h(),t!==void 0&&(t.i=this.i),16&this.f)throw this.v;return this.v}});function B(t,e){return new W(t,e)}function lt(t){var e=t.
j;if(t.j=void 0,typeof e=="function"){E++;var n=y;y=void 0;try{e()}catch(i){throw t.f&=-2,t.f|=8,je(t),i}finally{y=n,de()}}}function je(t){for(var e=t.s;e!==void 0;e=
e.n)e.S.U(e);t.x=void 0,t.s=void 0,lt(t)}function Wt(t){if(y!==this)throw new Error("Out-of-order effect");at(this),y=t,this.f&=-2;try{8&this.f&&je(this)}finally{
de()}}function z(t,e){this.x=t,this.j=void 0,this.s=void 0,this.u=void 0,this.f=32,this.name=e?.name,Y&&Y.push(this)}z.prototype.c=function(){var t=this.S();try{
if(8&this.f||this.x===void 0)return;var e=this.x();typeof e=="function"&&(this.j=e)}finally{t()}};z.prototype.S=function(){if(1&this.f)throw new Error("Cycle de\
tected");this.f|=1,this.f&=-9,lt(this),ct(this),E++;var t=y;return y=this,Wt.bind(this,t)};z.prototype.N=function(){2&this.f||(this.f|=2,this.u=ee,ee=this)};z.prototype.
d=function(){this.f|=8,1&this.f||je(this)};z.prototype.dispose=function(){this.d()};function N(t,e){var n=new z(t,e);try{n.c()}catch(r){throw n.d(),r}var i=n.d.
bind(n);return i[Symbol.dispose]=i,i}var He,G,me,qt=typeof window<"u"&&!!window.__PREACT_SIGNALS_DEVTOOLS__;var ht=[];N(function(){He=this.N})();function J(t,e){v[t]=e.bind(null,v[t]||function(){})}function ie(t){if(me){var e=me;me=void 0,e()}me=t&&t.S()}function vt(t){
var e=this,n=t.data,i=dt(n);i.name="ReactiveDom",i.value=n;var r=R(function(){for(var u=e,c=e.__v;c=c.__;)if(c.__c){c.__c.__$f|=4;break}var a=B(function(){var f=i.
value.value;return f===0?0:f===!0?"":f||""}),s=B(function(){return!Array.isArray(a.value)&&!we(a.value)}),d=N(function(){if(this.N=mt,s.value){var f=a.value;u.__v&&
u.__v.__e&&u.__v.__e.nodeType===3&&(u.__v.__e.data=f)}}),l=e.__$u.d;return e.__$u.d=function(){d(),l.call(this)},[s,a]},[]),_=r[0],o=r[1];return _.value?o.peek():
o.value}vt.displayName="ReactiveTextNode";Object.defineProperties(S.prototype,{constructor:{configurable:!0,value:K(O,null).constructor},type:{configurable:!0,value:vt},
props:{configurable:!0,get:function(){var t=this;return{data:{get value(){return t.value}}}}},__b:{configurable:!0,value:1}});J("__b",function(t,e){if(ie(),G=void 0,
typeof e.type=="string"){var n,i=e.props;for(var r in i)if(r!=="children"){var _=i[r];_ instanceof S&&(n||(e.__np=n={}),n[r]=_,i[r]=_.peek())}}t(e)});J("__r",function(t,e){
if(t(e),e.type!==O){ie();var n,i=e.__c;i&&(i.__$f&=-2,(n=i.__$u)===void 0&&(i.__$u=n=(function(r,_){var o;return N(function(){o=this},{name:_}),o.c=r,o})((function(r){
return function(){var _;qt&&((_=this.y)==null||_.call(this)),r.__$f|=1,r.setState({})}})(i),typeof e.type=="function"?e.type.displayName||e.type.name:""))),G=i,
ie(n)}});J("__e",function(t,e,n,i){ie(),G=void 0,t(e,n,i)});J("diffed",function(t,e){ie(),G=void 0;var n;if(typeof e.type=="string"&&(n=e.__e)){var i=e.__np,r=e.
props,_=n.U;if(_)for(var o in _){var u=_[o];u===void 0||i&&o in i||(u.d(),_[o]=void 0)}if(i){_||(_={},n.U=_);for(var c in i){var a=_[c],s=i[c];a===void 0?(a=Lt(
n,c,s,r),_[c]=a):a.o(s,r)}}}t(e)});function Lt(t,e,n,i){var r=e in t&&t.ownerSVGElement===void 0,_=ne(n);return{o:function(o,u){_.value=o,i=u},d:N(function(){this.
N=mt;var o=_.value.value;i[e]!==o&&(i[e]=o,r?t[e]=o:o!=null&&(o!==!1||e[4]==="-")?t.setAttribute(e,o):t.removeAttribute(e))})}}J("unmount",function(t,e){if(typeof e.
type=="string"){var n=e.__e;if(n){var i=n.U;if(i){n.U=void 0;for(var r in i){var _=i[r];_&&_.d()}}}var o=e.__np;if(o){var u=e.props;for(var c in o)u[c]=o[c]}e.__np=
void 0}else{var a=e.__c;if(a){a.__$f|=8;var s=a.__$u;s&&(a.__$u=void 0,s.d())}}t(e)});J("__h",function(t,e,n,i){i<3&&(e.__$f|=2),t(e,n,i)});L.prototype.shouldComponentUpdate=
function(t,e){if(this.__R)return!0;var n=this.__$u,i=n&&n.s!==void 0;for(var r in e)return!0;if(this.__f||typeof this.u=="boolean"&&this.u===!0){var _=2&this.__$f;
if(!(i||_||4&this.__$f)||1&this.__$f)return!0}else if(!(i||4&this.__$f)||3&this.__$f)return!0;for(var o in t)if(o!=="__source"&&t[o]!==this.props[o])return!0;for(var u in this.
props)if(!(u in t))return!0;return!1};function dt(t,e){return R(function(){return ne(t,e)},[])}var Bt=function(t){queueMicrotask(function(){queueMicrotask(t)})};function Jt(){te(function(){for(var t;t=ht.shift();)He.call(t)})}function mt(){ht.push(this)===1&&(v.requestAnimationFrame||Bt)(Jt)}var gt=function(t,e,n,i){var r;e[0]=0;for(var _=1;_<e.length;_++){var o=e[_++],u=e[_]?(e[0]|=o?1:2,n[e[_++]]):e[++_];o===3?i[0]=u:o===4?i[1]=Object.assign(i[1]||
{},u):o===5?(i[1]=i[1]||{})[e[++_]]=u:o===6?i[1][e[++_]]+=u+"":o?(r=t.apply(u,gt(t,u,n,["",null])),i.push(r),u[0]?e[0]|=2:(e[_-2]=0,e[_]=r)):i.push(u)}return i},
yt=new Map;function bt(t){var e=yt.get(this);return e||(e=new Map,yt.set(this,e)),(e=gt(this,e.get(t)||(e.set(t,e=(function(n){for(var i,r,_=1,o="",u="",c=[0],a=function(l){
_===1&&(l||(o=o.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?c.push(0,l,o):_===3&&(l||o)?(c.push(3,l,o),_=2):_===2&&o==="..."&&l?c.push(4,l,0):_===2&&o&&!l?c.push(5,0,!0,
o):_>=5&&((o||!l&&_===5)&&(c.push(_,0,o,r),_=6),l&&(c.push(_,l,0,r),_=6)),o=""},s=0;s<n.length;s++){s&&(_===1&&a(),a(s));for(var d=0;d<n[s].length;d++)i=n[s][d],
_===1?i==="<"?(a(),c=[c],_=3):o+=i:_===4?o==="--"&&i===">"?(_=1,o=""):o=i+o[0]:u?i===u?u="":o+=i:i==='"'||i==="'"?u=i:i===">"?(a(),_=1):_&&(i==="="?(_=5,r=o,o=""):
i==="/"&&(_<5||n[s][d+1]===">")?(a(),_===3&&(c=c[0]),_=c,(c=c[0]).push(2,0,_),_=0):i===" "||i==="	"||i===`
`||i==="\r"?(a(),_=2):o+=i),_===3&&o==="!--"&&(_=4,c=c[0])}return a(),c})(t)),e),arguments,[])).length>1?e:e[0]}var an=bt.bind(K);import{Anchor,closeHistory,EmailNode,Img,jsx}from"./lib/visual.js";var looks=new Map,views=new Set;function show(src,data){looks.set(src,data),views.forEach(paint=>paint())}
function box(attrs,words,ask){let{src,alt}=attrs;/\/i\/[^/]+$/.test(src)&&!looks.has(src)&&(looks.set(src,""),ask(src));let span=(text,className)=>Object.assign(
document.createElement("span"),{textContent:text,className}),shown=looks.get(src);if(shown){let image=Object.assign(document.createElement("img"),{src:shown,alt});
return attrs.width&&(image.width=Number(attrs.width)),[image,...alt?[]:[span(words.altNone,"visual-note")]]}return src?[span(alt||words.altNone,"medium"),span(src,
"cut")]:[span(words.imageNone,"medium")]}var imageOf=(words,ask)=>EmailNode.create({name:"image",group:"block",atom:!0,draggable:!0,addAttributes:()=>Object.fromEntries(
Object.entries({src:"",alt:"",width:null,alignment:"left",href:null}).map(([name,value])=>[name,{default:value,rendered:!1}])),parseHTML:()=>[{tag:"div[data-ima\
ge]",getAttrs:element=>JSON.parse(element.dataset.image||"{}")},{tag:'img[src^="https://"]',getAttrs:element=>({src:element.getAttribute("src"),alt:element.getAttribute(
"alt")??""})}],renderHTML:({node})=>["div",{"data-image":JSON.stringify(node.attrs)},node.attrs.alt],addNodeView:()=>({node})=>{let dom=document.createElement("\
div"),now=node,paint=()=>{dom.className=`visual-image ${looks.get(now.attrs.src)?"visual-image--shown":""} align-${now.attrs.alignment}`,dom.replaceChildren(...box(
now.attrs,words,ask))};return views.add(paint),paint(),{dom,update:next=>next.type!==now.type?!1:(now=next,paint(),!0),destroy:()=>views.delete(paint)}},renderToReactEmail:({
node,style})=>{let{src,alt,width,alignment,href}=node.attrs;if(!src)return null;let margin={center:"0 auto",right:"0 0 0 auto"}[alignment],image=jsx(Img,{src,alt:alt??
"",width:width??void 0,style:{...style,maxWidth:"100%",...margin?{margin}:{}}});return href?jsx(Anchor,{href,children:image}):image}}),waiting=[],count=0,uploading=()=>waiting.
map(({name})=>name);function forget(){waiting=[]}function follow(transaction){for(let one of waiting)one.at=transaction.mapping.map(one.at)}var imagesIn=data=>[
...data?.files??[]].filter(({type})=>type.startsWith("image/"));function taking(tell2){let take=(files,at2)=>{for(let file of files)waiting.push({id:++count,at:at2,
name:file.name}),tell2({kind:"upload",id:count,file});return files.length>0};return{handlePaste:(view,e)=>!e.clipboardData?.getData("text/plain")&&take(imagesIn(
e.clipboardData),view.state.selection.to),handleDrop:(view,e)=>{let files=imagesIn(e.dataTransfer);return files.length&&e.preventDefault(),take(files,view.posAtCoords(
{left:e.clientX,top:e.clientY})?.pos??view.state.selection.to)}}}function arrived(editor2,id,image){let one=waiting.find(of=>of.id===id);if(waiting=waiting.filter(
of=>of!==one),!one||!image)return;let $at=editor2.state.doc.resolve(Math.min(one.at,editor2.state.doc.content.size)),at2=$at.parent.isTextblock?$at.after():$at.
pos;editor2.view.dispatch(closeHistory(editor2.state.tr)),editor2.chain().insertContentAt(at2,{type:"image",attrs:image},{updateSelection:!1}).setNodeSelection(
at2).run(),editor2.view.dispatch(closeHistory(editor2.state.tr))}import{Divider,EmailNode as EmailNode3,EmailTheming,Heading,Img as Img2,Link,StarterKit,jsx as jsx3}from"./lib/visual.js";var nameOf=key=>key.split(".").map((part,i)=>/^[A-Za-z_]\w*$/.test(part)?i?`.${part}`:part:`["${part}"]`).join(""),isName=text=>/^[A-Za-z_]\w*(\.\w+)*$/.test(text),
canQuote=text=>!/[\r\n]|%\}|\}\}|\{%|\{\{/.test(text)&&!(text.includes('"')&&text.includes("'")),quoted=text=>text.includes('"')?`'${text}'`:`"${text}"`,comparisons={
string:["equals","not_equals","contains","is_set","is_not_set"],number:["equals","not_equals","greater_than","less_than","is_set","is_not_set"],boolean:["is_tru\
e","is_false"],list:["is_set","is_not_set","contains"],object:["is_set","is_not_set"],html:["is_set","is_not_set"]},alone=["is_set","is_not_set","is_true","is_f\
alse"],isWhole=({key,type,op,value})=>isName(key)&&(alone.includes(op)||(type==="number"?value.trim()!==""&&Number.isFinite(Number(value)):canQuote(value)));function conditionTags(of){
if(!isWhole(of))return["",""];let{type,op,value}=of,name=nameOf(of.key),than=type==="number"?String(Number(value)):quoted(value),set=`${name} and ${name} != ${type===
"list"?"empty":'""'}`,sign={equals:"==",not_equals:"!=",contains:"contains",greater_than:">",less_than:"<"}[op];return op==="is_not_set"||op==="is_false"?[`{% u\
nless ${op==="is_false"?name:set} %}`,"{% endunless %}"]:[`{% if ${sign?`${name} ${sign} ${than}`:op==="is_true"?name:set} %}`,"{% endif %}"]}var loopTags=({list,
item})=>isName(list)?[`{% for ${item} in ${nameOf(list)} %}`,"{% endfor %}"]:["",""];function spelled({key,fallback=null,type="string",expression=null}){return expression?
`{{ ${expression} }}`:type==="html"?`{{ ${nameOf(key)} | raw }}`:/^(contact\.)?\w+$/.test(key)&&type!=="boolean"?`{{{${key}${fallback===null?"":`|${fallback}`}}\
}}`:`{{ ${nameOf(key)}${fallback===null?"":` | default: ${quoted(fallback)}`} }}`}var blockTag=name=>`{% block "${name}" %}`;import{EmailNode as EmailNode2,jsx as jsx2}from"./lib/visual.js";var between=([open2,close],children)=>open2?[jsx2("liquid",{children:open2}),children,jsx2("liquid",{children:close})]:children,worded=(text,values)=>text.replace(
/\{(\w+)\}/g,(all,name)=>values[name]??all),conditionLabel=({key,op,value},words)=>worded(words.showIfLabel,{name:key.replace(/^contact\./,""),op:words.ops[op],
value:alone.includes(op)?"":`“${value}”`}).trim(),boxed=(name,label,isRight)=>({node})=>["div",{class:`visual-block ${isRight(node.attrs)?"":"is-wrong"}`,[`\
data-${name}`]:JSON.stringify(node.attrs)},["div",{class:"visual-block-head",contenteditable:"false"},label(node.attrs)],["div",{class:"visual-block-body"},0]],
parsed=name=>[{tag:`div[data-${name}]`,contentElement:".visual-block-body",getAttrs:element=>JSON.parse(element.getAttribute(`data-${name}`))}],showIf=words=>EmailNode2.
create({name:"showIf",group:"block",content:"block+",defining:!0,addAttributes:()=>Object.fromEntries(Object.entries({key:"",type:"string",op:"is_set",value:""}).
map(([attr,value])=>[attr,{default:value,rendered:!1}])),parseHTML:()=>parsed("show-if"),renderHTML:boxed("show-if",attrs=>conditionLabel(attrs,words),isWhole),
renderToReactEmail:({node,children})=>between(conditionTags(node.attrs),children)}),repeat=words=>EmailNode2.create({name:"repeat",group:"block",content:"block+",
defining:!0,addAttributes:()=>({list:{default:"",rendered:!1},item:{default:"item",rendered:!1}}),parseHTML:()=>parsed("repeat"),renderHTML:boxed("repeat",({list,
item})=>worded(words.repeatLabel,{list:list||"…",item}),({list})=>isName(list)),renderToReactEmail:({node,children})=>between(loopTags(node.attrs),children)}),
savedBlock=words=>EmailNode2.create({name:"savedBlock",group:"block",atom:!0,draggable:!0,addAttributes:()=>({name:{default:""}}),parseHTML:()=>[{tag:"div[data-\
saved-block]",getAttrs:element=>({name:element.getAttribute("data-saved-block")})}],renderHTML:({node})=>["div",{class:"visual-image","data-saved-block":node.attrs.
name},["span",{class:"medium"},words.savedBlock],["span",{class:"cut"},node.attrs.name]],renderToReactEmail:({node})=>jsx2("liquid",{children:blockTag(node.attrs.
name)})}),blocks=words=>[showIf(words),repeat(words),savedBlock(words)];var placeholder=/\{\{\{\s*((?:contact\.)?\w+)\s*(?:\|([^{}]*))?\}\}\}/,output=/(?<!\{)\{\{\s*([^{}\s][^{}]*?)\s*\}\}/,variableOf=match=>({key:match[1],fallback:match[2]===
void 0?null:match[2].trim()});function outputOf([,inside]){let[,key,,fallback]=/^([A-Za-z_]\w*(?:\.\w+)*)(?:\s*\|\s*default:\s*(["'])(.*)\2)?$/.exec(inside)??[];
return key?{key,fallback:fallback??null}:{key:inside.split(/[\s|]/)[0],expression:inside}}var variable=liquid=>EmailNode3.create({name:"variable",group:"inline",
inline:!0,atom:!0,selectable:!0,addAttributes:()=>Object.fromEntries(Object.entries({key:"FIRST_NAME",fallback:null,type:"string",expression:null}).map(([attr,value])=>[
attr,{default:value,rendered:!1}])),parseHTML:()=>[{tag:"span[data-variable]",getAttrs:element=>JSON.parse(element.dataset.variable)}],renderHTML:({node})=>["sp\
an",{class:"chip","data-variable":JSON.stringify(node.attrs),title:spelled(node.attrs)},(node.attrs.expression??node.attrs.key).replace(/^contact\./,"")],renderText:({
node})=>spelled(node.attrs),addInputRules(){return[[placeholder,variableOf],...liquid?[[output,outputOf]]:[]].map(([find,meaning])=>({find:new RegExp(`${find.source}\
$`),undoable:!0,handler:({range,match,chain})=>{chain().deleteRange(range).insertContentAt(range.from,{type:"variable",attrs:meaning(match)}).run()}}))},renderToReactEmail:({
node})=>spelled(node.attrs)}),mayLead=href=>/^(https?:\/\/|mailto:|tel:|\{\{)[^]*\S$/i.test(href)&&!/\s/.test(href.replace(/\{\{[^]*?\}\}/g,"")),{serializerPlugin}=EmailTheming.
options,looks2={container:{paddingTop:"24px",paddingRight:"24px",paddingBottom:"24px",paddingLeft:"24px"},columnsColumn:{width:"50%",verticalAlign:"top",paddingRight:"\
12px"}},logoOf=kit=>EmailNode3.create({name:"brandLogo",group:"block",atom:!0,draggable:!0,parseHTML:()=>[{tag:"div[data-brand-logo]"}],renderHTML:()=>["div",{class:"\
visual-brand","data-brand-logo":""},...kit.logo?.shown?[["img",{src:kit.logo.shown,alt:kit.name,width:kit.logo.width,height:kit.logo.height}]]:[kit.name]],renderToReactEmail:()=>{
if(!kit.logo)return jsx3("div",{style:{margin:"0 0 16px",fontSize:"18px",fontWeight:600,...fontOf(kit)},children:kit.name});let{src,width,height}=kit.logo;return jsx3(
"div",{style:{margin:"0 0 16px"},children:jsx3(Img2,{src,alt:kit.name,width:width??void 0,height,style:{maxWidth:"100%"}})})}}),footerOf=(kit,words)=>EmailNode3.
create({name:"brandFooter",group:"block",atom:!0,draggable:!0,parseHTML:()=>[{tag:"div[data-brand-footer]"}],renderHTML:()=>["div",{class:`visual-foot ${kit.footer?
"":"visual-foot--none"}`,"data-brand-footer":""},kit.footer??words.footerNone],renderToReactEmail:()=>kit.footer&&jsx3("div",{style:{margin:"12px 0 0",color:"#5\
d6470",fontSize:"12px",lineHeight:"18px",...fontOf(kit)},children:kit.footer.split(`
`).flatMap((line,i)=>i?[jsx3("br"),line]:[line])})}),fontOf=kit=>kit.font?{fontFamily:kit.font}:{},lettered=["container","paragraph","heading","blockquote","but\
ton","listItem","columnsColumn"],branded=(kit,type)=>({...lettered.includes(type)?fontOf(kit):{},...kit.colors&&type==="button"?{backgroundColor:kit.colors.button,
color:kit.colors.on}:{},...kit.colors&&type==="link"?{color:kit.colors.link}:{}}),theming=kit=>EmailTheming.configure({theme:"basic",serializerPlugin:{...serializerPlugin,
getNodeStyles:(node,...more)=>{let{align,...style}=serializerPlugin.getNodeStyles(node,...more);return{...style,...looks2[node.type],...branded(kit,node.type)}}}}),
extensions=(kit,words,liquid,look)=>[StarterKit.configure({CodeBlockPrism:!1,Code:!1,ThreeColumns:!1,FourColumns:!1,Table:!1,TableRow:!1,TableCell:!1,TableHeader:!1,
Body:!1,Div:!1,Section:!1,Sup:!1,Uppercase:!1,PreservedStyle:!1,PreviewText:!1,Heading:!1,Divider:!1,Link:!1,FocusScopes:!1}),Heading.extend({addNodeView:()=>null}).
configure({levels:[1,2,3]}).extend({renderHTML:({node,HTMLAttributes})=>[`h${node.attrs.level}`,{...HTMLAttributes,class:`node-h${node.attrs.level}`},0]}),Divider.
extend({addNodeView:()=>null,renderHTML:()=>["hr",{class:"node-hr"}],addProseMirrorPlugins(){return this.parent().map(plugin=>new plugin.constructor({...plugin.
spec,filterTransaction:(tr,state)=>!!tr.getMeta("history$")||plugin.spec.filterTransaction(tr,state)}))}}),Link.configure({openOnClick:!1,autolink:!1,isAllowedUri:href=>mayLead(
href??""),HTMLAttributes:{class:"node-link",rel:null,target:"_blank"}}),theming(kit),variable(liquid),imageOf(words,look),logoOf(kit),footerOf(kit,words),...blocks(
words)];import{closeHistory as closeHistory3}from"./lib/visual.js";import{closeHistory as closeHistory2,NodeSelection}from"./lib/visual.js";var Choice=({label,value,options,onChange})=>an`<span class="select-wrap"><select class="select" aria-label=${label} value=${value} onChange=${e=>{let chosen=e.
currentTarget.value;e.currentTarget.value=value,onChange(chosen)}}>${options.map(([id,name])=>an`<option value=${id} selected=${id===value}>${name}</option>`)}</select><svg class="icon" aria-hidden="true"><use href="#i-down" /></svg></span>`,
shortName=name=>name.replace(/^contact\./,"");function itemsOf(editor2,known){let out=[],{$from}=editor2.state.selection;for(let depth=1;depth<=$from.depth;depth++){
let{type,attrs}=$from.node(depth);if(type.name!=="repeat")continue;let of=[...out,...known].find(v2=>v2.name===attrs.list)?.items??[{name:"",type:"string"}];out.
unshift(...of.map(item=>({...item,name:item.name?`${attrs.item}.${item.name}`:attrs.item})))}return out}function Line({id,label,value,hint,hints,wrong,note,onInput,
onChange}){let[typed,type]=Ut(value??"");return Me(()=>type(value??""),[value]),an`<label class="visual-field"><span>${label}</span><input class="input" id=${id} value=${typed} placeholder=${hint} list=${hints&&
`${id}-hints`} onChange=${()=>onChange?.(typed)} aria-invalid=${wrong?.(typed)?"true":void 0} onInput=${e=>{type(e.currentTarget.value),wrong?.(e.currentTarget.
value)||onInput(e.currentTarget.value)}} />${hints&&an`<datalist id=${`${id}-hints`}>${hints.map(name=>an`<option value=${name} />`)}</datalist>`}${note&&an`<span class="warn">${note}</span>`}</label>`}
function things(editor2){let{selection}=editor2.state,{$from}=selection,out=[];for(let depth=1;depth<=$from.depth;depth++){let node=$from.node(depth);["showIf",
"repeat"].includes(node.type.name)&&out.push({kind:node.type.name,attrs:node.attrs,at:$from.before(depth)})}return selection instanceof NodeSelection&&["variabl\
e","image","showIf","repeat"].includes(selection.node.type.name)?out.push({kind:selection.node.type.name,attrs:selection.node.attrs,at:selection.from}):editor2.
isActive("button")?out.push({kind:"button",attrs:editor2.getAttributes("button"),at:selection.$from.before()}):editor2.isActive("link")&&out.push({kind:"link",attrs:editor2.
getAttributes("link"),at:selection.from}),out}var keep=(editor2,at2,tr)=>editor2.state.selection instanceof NodeSelection&&editor2.state.selection.from===at2?tr.
setSelection(NodeSelection.create(tr.doc,at2)):tr,kinds={showIf:ShowIf,repeat:Repeat,variable:Variable,image:Image,button:Address,link:Address};function Fields({
editor:editor2,said:said2}){return things(editor2).map(of=>{let{kind,attrs,at:at2}=of,set=(more,step=!1)=>{if(kind==="link"){editor2.chain().extendMarkRange("li\
nk").updateAttributes("link",more).run();return}let tr=editor2.state.tr.setNodeMarkup(at2,void 0,{...editor2.state.doc.nodeAt(at2).attrs,...more});editor2.view.
dispatch(keep(editor2,at2,step?closeHistory2(tr):tr)),step&&editor2.view.dispatch(closeHistory2(editor2.state.tr))};return an`<div class="visual-fields" data-kind=${kind} role="group" aria-label=${said2.
words[kind]} key=${`${kind} ${at2}`}><${kinds[kind]} editor=${editor2} attrs=${attrs} at=${at2} set=${set} said=${said2} kind=${kind} /></div>`})}function Unwrap({
editor:editor2,at:at2,words}){return an`<button type="button" class="btn" onClick=${()=>{let node=editor2.state.doc.nodeAt(at2);editor2.view.dispatch(closeHistory2(
editor2.state.tr.replaceWith(at2,at2+node.nodeSize,node.content))),editor2.commands.focus()}}>${words.unwrap}</button>`}var named=(all,words,key)=>[...all.some(
({name})=>name===key)?[]:[[key,key||"–"]],...all.map(({name,type})=>[name,`${shortName(name)} · ${words.types[type]}`])];function ShowIf({editor:editor2,attrs,
at:at2,set,said:{words,known}}){let all=[...itemsOf(editor2,known),...known],choose=key=>{let type=all.find(({name})=>name===key)?.type??attrs.type;set({key,type,
op:comparisons[type].includes(attrs.op)?attrs.op:comparisons[type][0]},!0)},number=attrs.type==="number";return an`<label class="visual-field"><span>${words.showIf}</span><${Choice} label=${words.
showIf} value=${attrs.key} options=${named(all,words,attrs.key)} onChange=${choose} /></label>
	<${Choice} label=${words.comparison} value=${attrs.op} options=${comparisons[attrs.type].map(op=>[op,words.ops[op]])} onChange=${op=>set({op},!0)} />
	${!alone.includes(attrs.op)&&an`<${Line} id="visual-value" label=${words.value} value=${attrs.value} wrong=${text=>number?!Number.isFinite(Number(text)):!canQuote(
text)} onInput=${value=>set({value})} />`}
	<${Unwrap} editor=${editor2} at=${at2} words=${words} />`}function Repeat({editor:editor2,attrs,at:at2,set,said:{words,known}}){let lists=[...itemsOf(editor2,known).
filter(({name})=>!name.startsWith(`${attrs.item}.`)),...known].filter(({type})=>type==="list").map(({name})=>name);return an`<${Line} id="visual-list" label=${words.
repeat} value=${attrs.list} hints=${lists} hint="order.items" wrong=${text=>!isName(text)} onInput=${list=>set({list})} />
	<${Line} id="visual-item" label=${words.item} value=${attrs.item} wrong=${text=>!/^[A-Za-z_]\w*$/.test(text)} onInput=${item=>set({item})} />
	<${Unwrap} editor=${editor2} at=${at2} words=${words} />`}function Variable({editor:editor2,attrs,set,said:{words,known}}){let all=[...itemsOf(editor2,known),...known].
filter(({type})=>type!=="list"&&type!=="object"),choose=key=>set({key,type:all.find(({name})=>name===key)?.type??"string",expression:null},!0);return an`<label class="visual-field"><span>${words.
variable}</span><${Choice} label=${words.variable} value=${attrs.key} options=${named(all,words,attrs.key)} onChange=${choose} /></label>
	${attrs.expression?an`<code class="visual-field">${attrs.expression}</code>`:attrs.type!=="html"&&an`<${Line} label=${words.fallback} hint=${words.fallbackHint} value=${attrs.
fallback} wrong=${text=>/[{}]/.test(text)||!canQuote(text)} onInput=${text=>set({fallback:text===""?null:text})} />`}`}function Image({attrs,at:at2,set,said:{words,
ask}}){return an`<button type="button" class="btn" onClick=${()=>ask({kind:"pick",at:at2})}>${words.pick}</button>
	<${Line} id="visual-alt" label=${words.alt} hint=${words.altHint} note=${attrs.src&&!attrs.alt&&words.altAsk} value=${attrs.alt} onInput=${alt=>set({alt})} onChange=${alt=>ask(
{kind:"described",src:attrs.src,alt})} />
	<${Line} id="visual-address" label=${words.imageAddress} hint="https://" value=${attrs.src} wrong=${text=>text!==""&&!/^(https?:\/\/|\{\{)[^]*\S$/i.test(text.trim())} onInput=${src=>set(
{src:src.trim()})} />
	<${Line} label=${words.width} hint=${words.widthHint} value=${attrs.width} wrong=${text=>!/^\d{0,4}$/.test(text)} onInput=${width=>set({width:width||null})} />`}
function Address({editor:editor2,kind,attrs,set,said:{words}}){return an`<${Line} id="visual-address" label=${words.address} value=${attrs.href} hint="https://" wrong=${text=>!mayLead(
text.trim())} onInput=${href=>set({href:href.trim()})} />
	${kind==="link"&&an`<button type="button" class="btn" onClick=${()=>editor2.chain().focus().extendMarkRange("link").unsetMark("link").run()}>${words.unlink}</button>`}`}var Tool=({icon,word,on,id,disabled=!1,run})=>an`<button type="button" class="btn btn--quiet btn--icon" id=${id} aria-label=${word} title=${word} aria-pressed=${on===
void 0?void 0:String(!!on)} disabled=${disabled} onMouseDown=${e=>e.preventDefault()} onClick=${run}><svg class="icon" aria-hidden="true"><use href=${`#i-${icon}`} /></svg></button>`,
blocks2=["paragraph","heading1","heading2","heading3","blockquote"],blockOf=editor2=>editor2.isActive("blockquote")?"blockquote":blocks2.find(name=>/\d$/.test(name)&&
editor2.isActive("heading",{level:Number(name.slice(-1))}))??"paragraph";function turn(editor2,name){let chain=editor2.chain().focus();editor2.isActive("blockqu\
ote")&&name!=="blockquote"&&chain.lift("blockquote"),name==="blockquote"?chain.setParagraph().wrapIn("blockquote").run():name==="paragraph"?chain.setParagraph().
run():chain.setHeading({level:Number(name.slice(-1))}).run()}function Tools({editor:editor2,said:said2}){let{words}=said2;return words?an`<div class="visual-tools" role="toolbar" aria-label=${words.
tools}>${editor2&&an`<${Looks} editor=${editor2} words=${words} /><${Put} editor=${editor2} said=${said2} />`}</div>
	${editor2&&an`<${Fields} editor=${editor2} said=${said2} />`}
	<div role="status" class=${said2.uploading.length?"visual-fields":"vh"}>${said2.uploading.length?`${words.uploading} ${said2.uploading.join(", ")}`:""}</div>
	<div class="visual-sheet" onMouseDown=${e=>{e.target.closest(".ProseMirror")||!editor2||(e.preventDefault(),editor2.commands.focus("end"))}}><div id="sheet" class="visual-paper"></div></div>`:
null}function Looks({editor:editor2,words}){let act=(name,...more)=>()=>editor2.chain().focus()[name](...more).run(),align=["left","center","right"].find(side=>editor2.
isActive({alignment:side}))??"left",put=side=>{let chain=editor2.chain().focus();for(let name of["paragraph","heading","button","image"])editor2.isActive(name)&&
chain.updateAttributes(name,{alignment:side});chain.run()};return an`<${Choice} label=${words.block} value=${blockOf(editor2)} options=${blocks2.map(name=>[name,
words[name]])} onChange=${name=>turn(editor2,name)} />
	<span class="visual-group">${[["bold","toggleBold"],["italic","toggleItalic"],["underline","toggleUnderline"],["strike","toggleStrike"]].map(([name,run])=>an`<${Tool} key=${name} icon=${name} word=${words[name]} on=${editor2.
isActive(name)} run=${act(run)} />`)}
	<${Tool} icon="link" id="visual-link" word=${words.link} on=${editor2.isActive("link")} disabled=${editor2.state.selection.empty&&!editor2.isActive("link")} run=${()=>{
editor2.isActive("link")||editor2.chain().focus().setMark("link",{href:""}).run(),requestAnimationFrame(()=>document.getElementById("visual-address")?.select())}} /></span>
	<span class="visual-group"><${Tool} icon="bullets" word=${words.bullets} on=${editor2.isActive("bulletList")} run=${act("toggleBulletList")} /><${Tool} icon="numbers" word=${words.
numbers} on=${editor2.isActive("orderedList")} run=${act("toggleOrderedList")} /></span>
	<span class="visual-group">${[["left","start"],["center","center"],["right","end"]].map(([side,icon])=>an`<${Tool} key=${side} icon=${icon} word=${words[side]} on=${align===
side} run=${()=>put(side)} />`)}</span>
	<span class="visual-group"><${Tool} icon="undo" word=${words.undo} disabled=${!editor2.can().undo()} run=${act("undo")} /><${Tool} icon="redo" word=${words.redo} disabled=${!editor2.
can().redo()} run=${act("redo")} /></span>`}var apart=editor2=>editor2.view.dispatch(closeHistory3(editor2.state.tr));function Put({editor:editor2,said:{words,known,
unsubscribe,liquid,saved=[],ask,htmlOf:htmlOf2}}){let behind=(inline=!1)=>{apart(editor2);let{selection}=editor2.state,at2=selection.node?selection.to:!inline&&
selection.$to.parent.type.name==="button"?selection.$to.after():0;at2&&editor2.chain().insertContentAt(at2,{type:"paragraph"}).setTextSelection(at2+1).run()},insert=(content,inline=!1)=>{
behind(inline),editor2.chain().focus().insertContent(content).run(),apart(editor2)},choose=content=>{insert(content);let put2=null;editor2.state.doc.nodesBetween(
0,editor2.state.selection.to,(node,at2)=>{node.type.name===content.type&&(put2={node,at:at2})}),put2&&(put2.node.isAtom?editor2.commands.setNodeSelection(put2.at):
editor2.commands.setTextSelection({from:put2.at+1,to:put2.at+put2.node.nodeSize-1}))},wrap=(type,attrs)=>{apart(editor2),editor2.chain().focus().wrapIn(type,attrs).
run()&&(apart(editor2),requestAnimationFrame(()=>[...document.querySelectorAll(`.visual-fields[data-kind=${type}] :is(select, input)`)].at(-1)?.closest(".visual\
-fields").querySelector("select, input")?.focus()))},items=itemsOf(editor2,known),all=[...items,...known],first=all.find(({type})=>type!=="list"&&type!=="object")??
{name:"",type:"string"},list=all.find(({type})=>type==="list"),things2={button:()=>choose({type:"button",attrs:{href:""},content:[{type:"text",text:words.buttonText}]}),
image:()=>choose({type:"image"}),brandLogo:()=>insert({type:"brandLogo"}),brandFooter:()=>insert({type:"brandFooter"}),divider:()=>insert({type:"horizontalRule"}),
columns:()=>{behind(),editor2.chain().focus().insertColumns(2).run()},unsubscribe:()=>insert([{type:"text",text:words.unsubscribeText,marks:[{type:"link",attrs:{
href:"{{{UNSUBSCRIBE_URL}}}"}}]}],!0),showIf:()=>wrap("showIf",{key:first.name,type:first.type,op:first.type==="boolean"?"is_true":"is_set"}),repeat:()=>wrap("r\
epeat",{list:list?.name??"",item:items.some(({name})=>/^item(\.|$)/.test(name))?"item2":"item"})},keepBlock=()=>{let range=editor2.state.selection.$from.blockRange(
editor2.state.selection.$to);range&&htmlOf2(editor2,range).then(html=>ask({kind:"saveBlock",from:range.start,to:range.end,html}))},offered=Object.keys(things2).
filter(name=>name==="unsubscribe"?unsubscribe:name==="showIf"?liquid:name==="repeat"?liquid&&!unsubscribe:!0),put=name=>name==="keep"?keepBlock():name.startsWith(
"saved ")?insert({type:"savedBlock",attrs:{name:name.slice(6)}}):things2[name](),writable=all.filter(({type})=>liquid?type!=="list"&&type!=="object":type==="str\
ing"||type==="number");return an`<${Choice} label=${words.variable} value="" options=${[["",words.variable],...writable.map(({name,type})=>[name,`${shortName(name)}\
 · ${words.types[type]}`])]} onChange=${key=>key&&insert({type:"variable",attrs:{key,fallback:null,type:all.find(({name})=>name===key).type}},!0)} />
	<${Choice} label=${words.insert} value="" options=${[["",words.insert],...offered.map(name=>[name,words[name]]),...liquid?[...saved.map(name=>[`saved ${name}`,
`${words.savedBlock}: ${name}`]),["keep",words.saveBlock]]:[]]} onChange=${name=>name&&put(name)} />`}var pause=250,home=new URL(location.href).origin,port=null,editor=null,said={},due=0;addEventListener("message",e=>{e.source!==parent||e.origin!==home||!e.ports[0]||
port||(port=e.ports[0],port.onmessage=({data})=>hear(data),port.postMessage({kind:"ready"}))});function hear(data){data.kind==="open"&&open(data),data.kind==="k\
now"&&draw(data),data.kind==="focus"&&editor?.commands.focus(),data.kind==="mjml"&&convert(data),data.kind==="shown"&&show(data.src,data.shown),data.kind==="upl\
oaded"&&editor&&(arrived(editor,data.id,data.image),draw({}),data.image&&askAlt()),data.kind==="blockSaved"&&editor&&editor.chain().insertContentAt({from:data.from,
to:data.to},{type:"savedBlock",attrs:{name:data.name}}).run(),data.kind==="picked"&&editor?.state.doc.nodeAt(data.at)?.type.name==="image"&&(editor.chain().setNodeSelection(
data.at).updateAttributes("image",data.image).run(),data.image.alt||askAlt())}var askAlt=()=>requestAnimationFrame(()=>document.getElementById("visual-alt")?.focus()),
tellPage=message=>port.postMessage(message);async function htmlOf(of,{start,end}){let content=of.state.doc.slice(start,end).content.toJSON(),edge={type:"showIf",
attrs:{key:"here",type:"boolean",op:"is_true",value:""},content};speak(said.mailLanguage,!0);let{html:made}=await composeReactEmail({editor:Object.create(of,{getJSON:{
value:()=>({type:"doc",content:[edge]})}})});return made.slice(made.indexOf("{% if here %}")+13,made.lastIndexOf("{% endif %}")).trim()}async function convert({
source,written}){let made={html:"",errors:[]};try{let{default:mjml}=await import("./lib/mjml.js");made=await mjml(source,{validationLevel:"soft",fonts:{}})}catch(error){
made.errors=[{line:Number(/line:? (\d+)/i.exec(error.message)?.[1]??1),message:error.message}]}tellPage({kind:"mjml",source,written,html:made.html,errors:made.errors.
map(({line,message})=>({line,message}))})}function draw(more){said={...said,...more,uploading:uploading(),ask:tellPage,htmlOf};let root=document.documentElement;
root.lang=said.language,root.style.colorScheme=said.dark?"dark":"light",Nt(an`<${Tools} editor=${editor} said=${said} />`,document.getElementById("root"))}function open(data){
due&&data.written!==said.written&&tell(!0),clearTimeout(due),due=0,forget(),editor?.destroy(),editor=null,draw(data);let host=document.getElementById("sheet");host.
replaceChildren(),wear(host,data.kit);try{editor=new Editor({element:host,extensions:extensions(data.kit,data.words,data.liquid,src=>tellPage({kind:"look",src})),
content:JSON.parse(data.design),enableContentCheck:!0,editorProps:{attributes:{role:"textbox","aria-multiline":"true","aria-label":said.words.content,spellcheck:"\
true"},transformPastedHTML:tidy,handleKeyDown:(_view,e)=>keys(e),...taking(message=>{tellPage(message),draw({})})},onUpdate:()=>later(),onTransaction:({transaction})=>{
follow(transaction),editor&&draw({})}})}catch(error){port.postMessage({kind:"failed",message:String(error)});return}toText(),draw({}),data.fresh&&later()}function toText(){
let first=0;editor.state.doc.descendants((node,at2)=>(!first&&node.isTextblock&&(first=at2+1),!first)),first&&editor.commands.setTextSelection(first)}function wear(host,{
colors,font}){host.classList.toggle("has-color",!!colors),host.classList.toggle("has-font",!!font);for(let[name,value]of[...Object.entries(colors??{}),["font",font]])
value&&host.style.setProperty(`--kit-${name}`,value)}function tidy(text){let pasted=new DOMParser().parseFromString(text,"text/html");if(pasted.querySelector("[\
data-pm-slice]"))return text;for(let element of pasted.querySelectorAll("script, style, iframe, object, embed, link, meta, base"))element.remove();for(let element of pasted.
querySelectorAll("*"))for(let{name}of[...element.attributes])["href","src","alt"].includes(name)||element.removeAttribute(name);return new XMLSerializer().serializeToString(
pasted.body)}function keys(e){if(!(e.metaKey||e.ctrlKey)||e.altKey)return!1;let key=e.key.toLowerCase();return key!=="s"&&key!=="k"?!1:(e.preventDefault(),key===
"s"?(tell().then(()=>port.postMessage({kind:"save"})),!0):(document.getElementById("visual-link")?.click(),!0))}function later(){due||=window.setTimeout(()=>tell(),
pause)}async function tell(gone=!1){clearTimeout(due),due=0;let of=editor;if(!of)return;let design=JSON.stringify(of.getJSON()),{written,mailLanguage,liquid}=said;
speak(mailLanguage,liquid);let{html:made}=await composeReactEmail({editor:of});(gone||of===editor)&&port.postMessage({kind:"changed",written,design,html:made})}
addEventListener("pagehide",()=>due&&tell());
