var v,We,we,U,ge,fe,qe,re,Le,Se,be,Ie,Z=Symbol.for("pv"),se={},ce=[],kt=/^m(i|n|o|s|text|space)$/,xe=Array.isArray,ae=ce.slice,M=Object.assign;function F(t2){t2&&
t2.parentNode&&t2.remove()}function K(t2,e,n){var i,r,_,o={},u=arguments.length;for(_ in e)_=="key"?i=e[_]:_=="ref"&&typeof t2!="function"?r=e[_]:o[_]=e[_];return u>
2&&(o.children=u>3?ae.call(arguments,2):n),q(t2,o,i,r,null)}function wt(t2,e,n){var i,r,_,o=M({},t2.props),u=arguments.length;for(_ in e)_=="key"?i=e[_]:_=="ref"&&
typeof t2.type!="function"?r=e[_]:o[_]=e[_];return u>2&&(o.children=u>3?ae.call(arguments,2):n),q(t2.type,o,i!==void 0?i:t2.key,r!==void 0?r:t2.ref,null)}function q(t2,e,n,i,r){
var _={type:t2,props:e,key:n,ref:i,__k:null,__:null,__b:0,__e:null,__c:null,constructor:Z,__v:r||++We,__i:-1,__u:0};return!r&&v.vnode&&v.vnode(_),_}function O(t2){
return t2.children}function L(t2,e){this.props=t2,this.context=e,this.__g=0}function A(t2,e){if(e==null)return t2.__&&A(t2.__,t2.__i+1);for(var n;e<t2.__k.length;e++)
if((n=t2.__k[e])&&n.__e)return n.__e;return typeof t2.type!="function"||t2.props.__P?null:A(t2)}function St(t2){var e,n=t2.__v,i=n.__e,r=[],_=[],o=t2.__P;o&&((e=
M({constructor:Z},n)).__v=n.__v+1,v.vnode&&v.vnode(e),Ce(o,e,n,t2.__n,o.namespaceURI,32&n.__u?[i]:null,r,i||A(n),32&n.__u,_),e.__v=n.__v,e.__.__k[e.__i]=e,Ze(r,
e,_),n.__=n.__e=null,e.__e!=i&&Ve(e))}function Ve(t2){if((t2=t2.__)&&t2.__c&&!t2.props.__P)return t2.__e=null,t2.__k.some(function(e){return e&&(t2.__e=e.__e)}),
Ve(t2)}function ke(t2){(8&t2.__g||(t2.__g|=8,U.push(t2),fe++))&&ge==v.debounceRendering||((ge=v.debounceRendering)||queueMicrotask)(Be)}function Be(){try{for(var t2,
e=1;U.length;)U.length>e&&U.sort(qe),t2=U.shift(),e=U.length,8&t2.__g&&St(t2)}finally{(fe=U.length)&&(ge||queueMicrotask)(Be)}}function ze(t2,e,n,i,r,_,o,u,c,a,s){
var d,l,f,p,x,m,g=i.__k||ce,h=e.length;for(c=xt(n,e,g,c,h),d=0;d<h;d++)(f=n.__k[d])!=null&&(l=~f.__i&&g[f.__i]||se,f.__i=d,m=Ce(t2,f,l,r,_,o,u,c,a,s),p=f.__e,(l.
ref!=f.ref||8&l.__u)&&(l.ref&&Pe(l.ref,null,f,l),f.ref&&s.push(f.ref,f.__c||p,f)),x=x||p,4&f.__u?(c=Ge(f,c,t2,!l.__v),l.__e&&(l.__e=null)):typeof f.type=="funct\
ion"&&m!==void 0?c=m:p&&(c=p.nextSibling),f.__u&=-21);return n.__e=x,c}function xt(t2,e,n,i,r){var _,o,u,c,a,s,d,l,f,p=n.length,x=p,m=0,g=0,h=t2.__k=Array(r);for(_=
0;_<r;_++)(o=e[_])!=null&&typeof o!="boolean"&&typeof o!="function"?(typeof o!="object"||o.constructor===String?o=h[_]=q(null,o):xe(o)?o=h[_]=q(O,{children:o}):
o.constructor===Z&&o.__b?o=h[_]=q(o.type,o.props,o.key,o.ref,o.__v):h[_]=o,c=_+m,o.__=t2,o.__b=t2.__b+1,u=null,~(a=o.__i=Ct(o,n,c,x))&&(x--,(u=n[a])&&(u.__u|=2)),
u&&u.__v?(o.__u|=16,a==c-1?m--:a==c+1?m++:a!=c&&(a>c?m--:m++,g=1)):(~a||(r>p?m--:r<p&&m++),typeof o.type!="function"&&(o.__u|=4))):h[_]=null;if(g){for(s=[],d=[],
_=0;_<r;_++)if((o=h[_])&&16&o.__u){for(m=0,l=s.length;m<l;)s[f=m+l>>1]<o.__i?m=f+1:l=f;s[m]=o.__i,d[_]=m+1}for(m=s.length;_--;)d[_]&&(d[_]==m?m--:h[_].__u|=4)}if(x)
for(_=0;_<p;_++)!(u=n[_])||2&u.__u||(u.__e==i&&(i=A(u)),Te(u,u));return i}function Ge(t2,e,n,i){var r,_,o,u;if(typeof t2.type=="function"){if(t2.props.__P)return e;
if(r=t2.__k)for(_=0;_<r.length;_++)r[_]&&(r[_].__=t2,e=Ge(r[_],e,n,!1));return e}for(e&&!e.parentNode&&(e=A(t2))&&!e.parentNode&&(e=null),o=t2.__e,u=e;u&&u.nodeType==
8;)u=u.nextSibling;for(o!=u&&(!i&&n.moveBefore&&o.parentNode?n.moveBefore(o,e):n.insertBefore(o,e||null)),e=o;(e=e&&e.nextSibling)&&e.nodeType==8&&!e.data.startsWith(
"$s"););return e}function Ct(t2,e,n,i){var r,_=t2.key,o=t2.type,u=e[n],c=u&&!(2&u.__u);if(u===null&&_==null||c&&_==u.key&&o==u.type)return n;if(i>(c?1:0)){for(r=
n-1;r>=0;r--)if((u=e[r])&&!(2&u.__u)&&_==u.key&&o==u.type)return r;for(r=n+1;r<e.length;r++)if((u=e[r])&&!(2&u.__u)&&_==u.key&&o==u.type)return r}return-1}function Re(t2,e,n){
n==null&&(n=""),e[0]=="-"?t2.setProperty(e,n):t2[e]=n}function oe(t2,e,n,i,r){var _,o;if(e=="style")if(typeof n=="string")t2.style.cssText=n;else{if(typeof i=="\
string"&&(t2.style.cssText=i=""),i)for(e in i)n&&e in n||Re(t2.style,e);if(n)for(e in n)i&&n[e]==i[e]||Re(t2.style,e,n[e])}else if(e[0]=="o"&&e[1]=="n")typeof n!=
"function"&&(n=null),typeof i!="function"&&(i=null),(t2.__e||(t2.__e={}))[e]=n,n&&i||(o=be[e]||(be[e]=Pt(e)),(t2.__a||(t2.__a={}))[e]=Se,_=e!=(e=e.replace(Le,"$\
1")),(e=e.slice(2))[0]<"a"&&(e=e.toLowerCase()),n?t2.addEventListener(e,o,_):t2.removeEventListener(e,o,_));else{if(r=="http://www.w3.org/2000/svg")e=e.replace(
/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(e!="width"&&e!="height"&&e!="href"&&e!="list"&&e!="form"&&e!="tabIndex"&&e!="download"&&e!="rowSpan"&&e!="colSp\
an"&&e!="role"&&e!="popover"&&e in t2)try{return void(t2[e]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&e[4]!="-"?t2.removeAttribute(e):t2.setAttribute(
e,e=="popover"&&n==1?"":n)}}function Pt(t2){return function(e){var n=this.__e;if(n){if(n=n[t2],e[re]==null)e[re]=Se++;else if(e[re]<this.__a[t2])return;return n(
v.event?v.event(e):e)}}}function Ce(t2,e,n,i,r,_,o,u,c,a){var s,d,l,f,p,x,m,g,h,C,k,ye,De,_e,H,Fe,$,D,T=e.type;if(e.constructor!==Z)return null;128&n.__u&&(c=32&
n.__u,s=n.__c.__z)&&(e.__u|=c,d=_=[],s.nodeType==8?u=ue(s,_):_.push(s),u=_[0]||u),(s=v.__b)&&s(e);e:if(typeof T=="function"){l=o.length;try{if(g=e.props,h=(s=T.
prototype)&&s.render,C=(s=T.contextType)&&i[s.__c],k=s?C?C.props.value:s.__:i,(f=n.__c)?(e.__c=f,2&f.__g&&(f.__g|=1)):(h?e.__c=f=new T(g,k):(e.__c=f=new L(g,k),
f.constructor=T,f.render=Et),C&&C.sub(f),f.state||(f.state={}),f.__n=i,f.__g|=8,f.__h=[],f.__k=[]),h&&(f.__s||(f.__s=f.state),T.getDerivedStateFromProps&&(f.__s==
f.state&&(f.__s=M({},f.__s)),M(f.__s,T.getDerivedStateFromProps(g,f.__s)))),p=f.props,x=f.state,f.__v=e,n.__c){if(g!==p&&h&&!T.getDerivedStateFromProps&&f.componentWillReceiveProps&&
f.componentWillReceiveProps(g,k),e.__v==n.__v&&!(8&f.__g)||!(4&f.__g)&&f.shouldComponentUpdate&&f.shouldComponentUpdate(g,f.__s,k)===!1){e.__v!=n.__v&&(f.props=
g,f.state=f.__s,f.__g&=-9),e.__e=n.__e,e.__k=n.__k,e.__k.some(function(P){P&&(P.__=e)}),ce.push.apply(f.__h,f.__k),f.__k=[],f.__h.length&&o.push(f),u=A(n);break e}
f.componentWillUpdate&&f.componentWillUpdate(g,f.__s,k),h&&f.componentDidUpdate&&f.__h.push(function(){f.componentDidUpdate(p,x,m)})}else h&&!T.getDerivedStateFromProps&&
f.componentWillMount&&f.componentWillMount(),h&&f.componentDidMount&&f.__h.push(f.componentDidMount);f.context=k,f.props=g,f.__P=t2,f.__g&=-5,ye=v.__r,De=h?25:0;
do f.__g&=-9,ye&&ye(e),s=f.render(f.props,f.state=f.__s,f.context);while(8&f.__g&&++De<25);h&&(ce.push.apply(f.__h,f.__k),f.__k=[]),f.state=f.__s,f.getChildContext&&
(i=M({},i,f.getChildContext())),h&&n.__c&&f.getSnapshotBeforeUpdate&&(m=f.getSnapshotBeforeUpdate(p,x)),_e=s&&s.type===O&&s.key==null?s.props.children:s,g.__P&&
(s=u,r=(t2=g.__P).namespaceURI,c=_=null,n.props&&n.props.__P!=t2&&(n.__k.some(function(P){P&&Te(P,P)}),n.__k=null),u=n.__k?A(n,0):null),u=ze(t2,xe(_e)?_e:[_e],e,
n,i,r,_,o,u,c,a),g.__P&&(e.__e=null,u=s),e.__u&=-161,d&&d.some(F),f.__h.length&&o.push(f),1&f.__g&&(f.__g&=-4)}catch(P){if(o.length=l,e.__v=null,c||_)if(P&&P.then){
if(e.__u|=128|c,_){for(~($=_.indexOf(u||void 0))||($=_.length);(D=_[$-1])&&D.nodeType==8;)$--;for(;$<_.length;$++)if(D=_[$])if(_[$]=null,H){if(D==Fe)break}else{
if(D.nodeType!=8)break;D.data.startsWith("$s")&&(Fe=ue(H=D))}}if(!H){for(;u&&u.nodeType==8&&u.nextSibling;)u=u.nextSibling;H=u}(s=ue(H=e.__c.__z||(e.__c.__z=H)))?
(e.__e=H,u=s):e.__e=u,u=u&&u.nextSibling}else _&&_.some(F);else e.__e=n.__e;e.__k||(e.__k=n.__k||[]),P&&P.then||Je(e),v.__e(P,e,n)}}else u=e.__e=Tt(n.__e,e,n,i,
r,_,o,c,a,t2);return(s=v.diffed)&&s(e),u}function ue(t2,e){if(t2&&t2.nodeType==8&&t2.data.startsWith("$s"))for(var n=1;t2=t2.nextSibling;){if(t2.nodeType==8){if(t2.
data.startsWith("$s"))n++;else if(t2.data.startsWith("/$s")&&!--n)return t2}e&&e.push(t2)}}function Je(t2){t2&&(t2.__c&&(t2.__c.__g|=4),t2.__k&&t2.__k.some(Je))}
function Ze(t2,e,n){for(var i=0;i<n.length;)Pe(n[i++],n[i++],n[i++]);v.__c&&v.__c(e,t2),t2.some(function(r){try{t2=r.__h,r.__h=[],t2.some(function(_){_.call(r)})}catch(_){
v.__e(_,r.__v)}})}function Tt(t2,e,n,i,r,_,o,u,c,a){var s,d,l,f,p,x,m,g,h=n.props||se,C=e.props,k=e.type;if(k=="svg"?r="http://www.w3.org/2000/svg":k=="math"?r=
"http://www.w3.org/1998/Math/MathML":r||(r="http://www.w3.org/1999/xhtml"),_){for(s=0;s<_.length;s++)if((p=_[s])&&(k?p.localName==k:p.nodeType==3)){t2=p,_[s]=null;
break}}if(!t2){if(g=a.ownerDocument||document,!k)return g.createTextNode(C);t2=g.createElementNS(r,k,C.is?C:a),u&&(v.__m&&v.__m(e,_),u=!1),_=null}if(k){if(a=k==
"template"&&t2.content||t2,_=k=="textarea"&&C.defaultValue!=null?null:_&&ae.call(a.childNodes),!u&&_)for(h={},s=0;s<t2.attributes.length;s++)h[(p=t2.attributes[s]).
name]=p.value;for(s in h)p=h[s],s=="dangerouslySetInnerHTML"?l=p:s=="children"||s in C||s=="value"&&"defaultValue"in C||s=="checked"&&"defaultChecked"in C||oe(t2,
s,null,p,r);for(s in C)p=C[s],s=="children"?f=p:s=="dangerouslySetInnerHTML"?d=p:s=="value"?x=p:s=="checked"?m=p:u&&typeof p!="function"||h[s]===p||oe(t2,s,p,h[s],
r);d?(u||l&&(d.__html==l.__html||d.__html==t2.innerHTML)||(t2.innerHTML=d.__html),e.__k=[]):(l&&(t2.textContent=""),(k=="foreignObject"||r=="http://www.w3.org/1\
998/Math/MathML"&&kt.test(k))&&(r="http://www.w3.org/1999/xhtml"),ze(a,xe(f)?f:[f],e,n,i,r,_,o,_?_[0]:n.__k&&A(n,0),u,c),_&&_.some(F)),u&&k!="textarea"||(s="val\
ue",k=="progress"&&x==null?t2.removeAttribute(s):x==null||x===t2[s]&&(k!="progress"||x)||oe(t2,s,x,h[s],r),s="checked",m!=null&&m!=t2[s]&&oe(t2,s,m,h[s],r))}else
h===C||u&&t2.data==C||(t2.data=C);return t2}function Pe(t2,e,n,i){try{typeof t2=="function"?e?e.__x=t2(e)||1:i&&(i=i.__c||i.__e)&&(e=i.__x)&&(i.__x=null,typeof e==
"function"?e():t2(null)):t2.current=e}catch(r){v.__e(r,n)}}function Te(t2,e,n){var i,r,_,o;if(v.unmount&&v.unmount(t2),!(i=t2.ref)||i.current&&i.current!=t2.__e||
Pe(i,null,e,t2),i=t2.__c){if(i.componentWillUnmount)try{i.componentWillUnmount()}catch(u){v.__e(u,e)}i.__P=i.__n=null}if(i=t2.__k)for(o=0;o<i.length;o++)i[o]&&Te(
i[o],e,typeof t2.type!="function"||n&&!t2.props.__P);!n&&(i=t2.__c)&&(i=i.__z)&&(r=ue(i,_=[]))&&(i==t2.__e&&_.some(F),F(r),F(i)),n||F(t2.__e),t2.__e=t2.__c=t2.__=
null}function Et(t2,e,n){return this.constructor(t2,n)}function Nt(t2,e){var n,i,r,_;v.__&&v.__(t2,e),e.nodeType==9&&(e=e.documentElement),i=(n=t2&&32&t2.__u)?null:
e.__k,e.__k=q(O,{children:[t2]}),r=[],_=[],Ce(e,e.__k,i||se,se,e.namespaceURI,i?null:e.firstChild?ae.call(e.childNodes):null,r,i?i.__e:e.firstChild,n,_),Ze(r,e.
__k,_),e.__k.props.children=null}function $t(t2){function e(n){var i,r;return this.getChildContext||(i=new Set,(r={})[e.__c]=this,this.getChildContext=function(){
return r},this.shouldComponentUpdate=function(_){this.props.value!=_.value&&i.forEach(function(o){o.__g|=4,ke(o)})},this.sub=function(_){i.add(_);var o=_.componentWillUnmount;
_.componentWillUnmount=function(){i.delete(_),o&&o.call(_)}}),n.children}return e.__c="__cC"+Ie++,e.__=t2,e.Provider=(e.Consumer=function(n,i){return n.children(
i)}).contextType=e,e}v={__e:function(t2,e,n,i){for(var r,_,o;e=e.__;)if((r=e.__c)&&!(1&r.__g)){r.__g|=4;try{if((o=(_=r.constructor)&&_.getDerivedStateFromError)&&
r.setState(_.getDerivedStateFromError(t2)),r.componentDidCatch&&(r.componentDidCatch(t2,i||{}),o=1),o&&8&r.__g)return void(r.__g|=2)}catch(u){t2=u}}throw fe=0,t2}},
We=0,we=function(t2){return t2!=null&&t2.constructor===Z},L.prototype.setState=function(t2,e){var n=this.__s;n&&n!=this.state||(n=this.__s=M({},this.state)),typeof t2==
"function"&&(t2=t2(M({},n),this.props)),t2&&(M(n,t2),this.__v&&(e&&this.__k.push(e),ke(this)))},L.prototype.forceUpdate=function(t2){this.__v&&(this.__g|=4,t2&&
this.__h.push(t2),ke(this))},L.prototype.render=O,U=[],fe=0,qe=function(t2,e){return t2.__v.__b-e.__v.__b},re=Symbol(),Le=/(PointerCapture)$|Capture$/i,Se=0,be=
{},Ie=0;var j,b,Ee,Ke,Ne=Object.is,X=0,ot=[],$e=[],w=v,Qe=w.__b,Xe=w.__r,Ye=w.diffed,et=w.__c,tt=w.unmount,nt=w.__;function I(t2,e){w.__h&&w.__h(b,t2,X||e),X=0;
var n=b.__H||(b.__H={__:[],__h:[]});return t2>=n.__.length&&n.__.push({}),n.__[t2]}function Ut(t2){return X=1,rt(ut,t2)}function rt(t2,e,n){var i=I(j++,2);if(i.
t=t2,!i.__c&&(i.__=[n?n(e):ut(void 0,e),function(_){var o=(i.__N||i.__)[0],u=i.t(o,_);Ne(o,u)||(i.__N=[u,i.__[1]],i.__c.setState({}))}],i.__c=b,!b.__f)){b.__f=!0;
var r=b.shouldComponentUpdate;b.shouldComponentUpdate=function(_,o,u){var c=this.__H;if(!c)return!0;var a=!1,s=this.props!=_;if(c.__.some(function(l){l.__N&&(a=
!0,Ne(l.__[0],l.__N[0])||(s=!0))}),r){var d=r.call(this,_,o,u);return a?d||s:d}return!a||s}}return i.__}function Me(t2,e){var n=I(j++,3);!w.__s&&Ae(n.__H,e)&&(n.
__P=!0,n.__=t2,n.u=e,b.__H.__h.push(n))}function Mt(t2,e){var n=I(j++,4);!w.__s&&Ae(n.__H,e)&&(n.__P=!1,n.__=t2,n.u=e,b.__h.push(n))}function le(t2){return X=5,
R(function(){return{current:t2}},[])}function R(t2,e){var n=I(j++,7);return Ae(n.__H,e)&&(n.__=t2(),n.__H=e),n.__}function At(t2,e){return X=8,R(function(){return t2},
e)}function Ot(t2){var e=b.context[t2.__c],n=I(j++,9);return n.c=t2,e?(n.__==null&&(n.__=!0,e.sub(b)),e.props.value):t2.__}function jt(){var t2=I(j++,11);if(!t2.
__){for(var e=b.__v;!e.__m&&e.__;)e=e.__;var n=e.__m||(e.__m=[0,0]);t2.__="P"+n[0]+"-"+n[1]++}return t2.__}function Ht(){var t2;do{for(;t2=$e.shift();)try{Q(t2)}catch(n){
w.__e(n,{__:(t2=t2.__P)&&t2.__v})}for(;t2=ot.shift();){var e=t2.__H;if(t2.__P&&e)try{e.__h.some(Q),e.__h.some(Ue),e.__h=[]}catch(n){e.__h=[],w.__e(n,t2.__v)}}}while($e.
length)}w.__b=function(t2){b=null,Qe&&Qe(t2)},w.__=function(t2,e){t2&&e.__k&&e.__k.__m&&(t2.__m=e.__k.__m),nt&&nt(t2,e)},w.__r=function(t2){Xe&&Xe(t2),j=0;var e=(b=
t2.__c).__H;e&&(Ee==b?b.__h=[]:(e.__h.some(Q),e.__h.some(Ue),j=0),e.__h=[],e.__.some(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})),Ee=b},w.diffed=function(t2){
Ye&&Ye(t2);var e=t2.__c;e&&e.__H&&(e.__H.__h.length&&_t(ot.push(e)),e.__H.__.some(function(n){n.u&&(n.__H=n.u)})),Ee=b=null},w.__c=function(t2,e){e.some(function(n){
try{n.__h.some(Q),n.__h=n.__h.filter(function(i){return!i.__||Ue(i)})}catch(i){n.__h=[function(){throw i}]}}),et&&et(t2,e)},w.unmount=function(t2){tt&&tt(t2);var e,
n,i=t2.__c;i&&i.__H&&(i.__H.__.some(function(r){try{if(r.__P&&r.__c){if(n===void 0){for(n=t2.__;n&&(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}r.__P=n,_t($e.push(r))}else
Q(r)}catch(_){e=_}}),i.__H=void 0,e&&w.__e(e,i.__v))};var it=typeof requestAnimationFrame=="function";function Dt(t2){var e,n=function(){clearTimeout(i),it&&cancelAnimationFrame(
e),setTimeout(t2)},i=setTimeout(n,35);it&&(e=requestAnimationFrame(n))}function _t(t2){t2!=1&&Ke==w.requestAnimationFrame||((Ke=w.requestAnimationFrame)||Dt)(Ht)}
function Q(t2){var e=b,n=t2.__c;typeof n=="function"&&(t2.__c=void 0,n()),b=e}function Ue(t2){var e=b;t2.__c=t2.__(),b=e}function Ae(t2,e){return!t2||t2.length!=
e.length||e.some(function(n,i){return!Ne(n,t2[i])})}function ut(t2,e){return typeof e=="function"?e(t2):e}var Ft=Symbol.for("preact-signals");function de(){if(E>
1)E--;else{var t2,e=!1;for((function(){var r=he;for(he=void 0;r!==void 0;){var _=r.S;if(_.v===r.v)for(var o=_.t;o!==void 0;o=o.x)o.i===r.i&&(o.i=_.i);r=r.o}})();ee!==
void 0;){var n=ee;for(ee=void 0,pe++;n!==void 0;){var i=n.u;if(n.u=void 0,n.f&=-3,!(8&n.f)&&st(n))try{n.c()}catch(r){e||(t2=r,e=!0)}n=i}}if(pe=0,E--,e)throw t2}}
function te(t2){if(E>0)return t2();Oe=++Rt,E++;try{return t2()}finally{de()}}var Y,y=void 0;function V(t2){var e=y,n=Y;y=void 0,Y=void 0;try{return t2()}finally{
y=e,Y=n}}var ee=void 0,E=0,pe=0,Rt=0,Oe=0,he=void 0,ve=0;function ft(t2){if(y!==void 0){var e=t2.n;if(e===void 0||e.t!==y)return e={i:0,S:t2,p:y.s,n:void 0,t:y,
e:void 0,x:void 0,r:e},y.s!==void 0&&(y.s.n=e),y.s=e,t2.n=e,32&y.f&&t2.S(e),e;if(e.i===-1)return e.i=0,e.n!==void 0&&(e.n.p=e.p,e.p!==void 0&&(e.p.n=e.n),e.p=y.
s,e.n=void 0,y.s.n=e,y.s=e),e}}function S(t2,e){this.v=t2,this.i=0,this.n=void 0,this.t=void 0,this.l=0,this.W=e?.watched,this.Z=e?.unwatched,this.name=e?.name}
S.prototype.brand=Ft;S.prototype.h=function(){return!0};S.prototype.S=function(t2){var e=this,n=this.t;n!==t2&&t2.e===void 0&&(t2.x=n,this.t=t2,n!==void 0?n.e=t2:
V(function(){var i;(i=e.W)==null||i.call(e)}))};S.prototype.U=function(t2){var e=this;if(this.t!==void 0){var n=t2.e,i=t2.x;n!==void 0&&(n.x=i,t2.e=void 0),i!==
void 0&&(i.e=n,t2.x=void 0),t2===this.t&&(this.t=i,i===void 0&&V(function(){var r;(r=e.Z)==null||r.call(e)}))}};S.prototype.subscribe=function(t2){var e=this;return N(
function(){var n=e.value;V(function(){return t2(n)})},{name:"sub"})};S.prototype.valueOf=function(){return this.value};S.prototype.toString=function(){return this.
value+""};S.prototype.toJSON=function(){return this.value};S.prototype.peek=function(){var t2=this;return V(function(){return t2.value})};Object.defineProperty(
S.prototype,"value",{get:function(){var t2=ft(this);return t2!==void 0&&(t2.i=this.i),this.v},set:function(t2){if(t2!==this.v){if(pe>100)throw new Error("Cycle \
detected");(function(n){E!==0&&pe===0&&n.l!==Oe&&(n.l=Oe,he={S:n,v:n.v,i:n.i,o:he})})(this),this.v=t2,this.i++,ve++,E++;try{for(var e=this.t;e!==void 0;e=e.x)e.
t.N()}finally{de()}}}});function ne(t2,e){return new S(t2,e)}function st(t2){for(var e=t2.s;e!==void 0;e=e.n)if(e.S.i!==e.i||!e.S.h()||e.S.i!==e.i)return!0;return!1}
function ct(t2){for(var e=t2.s;e!==void 0;e=e.n){var n=e.S.n;if(n!==void 0&&(e.r=n),e.S.n=e,e.i=-1,e.n===void 0){t2.s=e;break}}}function at(t2){for(var e=t2.s,n=void 0;e!==
void 0;){var i=e.p;e.i===-1?(e.S.U(e),i!==void 0&&(i.n=e.n),e.n!==void 0&&(e.n.p=i)):n=e,e.S.n=e.r,e.r!==void 0&&(e.r=void 0),e=i}t2.s=n}function W(t2,e){S.call(
this,void 0,e),this.x=t2,this.s=void 0,this.g=ve-1,this.f=4}W.prototype=new S;W.prototype.h=function(){if(this.f&=-3,1&this.f)return!1;if((36&this.f)==32||(this.
f&=-5,this.g===ve))return!0;if(this.g=ve,this.f|=1,this.i>0&&!st(this))return this.f&=-2,!0;var t2=y;try{ct(this),y=this;var e=this.x();(16&this.f||this.v!==e||
this.i===0)&&(this.v=e,this.f&=-17,this.i++)}catch(n){this.v=n,this.f|=16,this.i++}return y=t2,at(this),this.f&=-2,!0};W.prototype.S=function(t2){if(this.t===void 0){
this.f|=36;for(var e=this.s;e!==void 0;e=e.n)e.S.S(e)}S.prototype.S.call(this,t2)};W.prototype.U=function(t2){if(this.t!==void 0&&(S.prototype.U.call(this,t2),this.
t===void 0)){this.f&=-33;for(var e=this.s;e!==void 0;e=e.n)e.S.U(e)}};W.prototype.N=function(){if(!(2&this.f)){this.f|=6;for(var t2=this.t;t2!==void 0;t2=t2.x)t2.
t.N()}};Object.defineProperty(W.prototype,"value",{get:function(){if(1&this.f)throw new Error("Cycle detected");var t2=ft(this);if(this.h(),t2!==void 0&&(t2.i=this.
i),16&this.f)throw this.v;return this.v}});function B(t2,e){return new W(t2,e)}function lt(t2){var e=t2.j;if(t2.j=void 0,typeof e=="function"){E++;var n=y;y=void 0;
try{e()}catch(i){throw t2.f&=-2,t2.f|=8,je(t2),i}finally{y=n,de()}}}function je(t2){for(var e=t2.s;e!==void 0;e=e.n)e.S.U(e);t2.x=void 0,t2.s=void 0,lt(t2)}function Wt(t2){
if(y!==this)throw new Error("Out-of-order effect");at(this),y=t2,this.f&=-2;try{8&this.f&&je(this)}finally{de()}}function z(t2,e){this.x=t2,this.j=void 0,this.s=
void 0,this.u=void 0,this.f=32,this.name=e?.name,Y&&Y.push(this)}z.prototype.c=function(){var t2=this.S();try{if(8&this.f||this.x===void 0)return;var e=this.x();
typeof e=="function"&&(this.j=e)}finally{t2()}};z.prototype.S=function(){if(1&this.f)throw new Error("Cycle detected");this.f|=1,this.f&=-9,lt(this),ct(this),E++;
var t2=y;return y=this,Wt.bind(this,t2)};z.prototype.N=function(){2&this.f||(this.f|=2,this.u=ee,ee=this)};z.prototype.d=function(){this.f|=8,1&this.f||je(this)};
z.prototype.dispose=function(){this.d()};function N(t2,e){var n=new z(t2,e);try{n.c()}catch(r){throw n.d(),r}var i=n.d.bind(n);return i[Symbol.dispose]=i,i}var He,
G,me,qt=typeof window<"u"&&!!window.__PREACT_SIGNALS_DEVTOOLS__,pt=[],ht=[];N(function(){He=this.N})();function J(t2,e){v[t2]=e.bind(null,v[t2]||function(){})}function ie(t2){
if(me){var e=me;me=void 0,e()}me=t2&&t2.S()}function vt(t2){var e=this,n=t2.data,i=dt(n);i.name="ReactiveDom",i.value=n;var r=R(function(){for(var u=e,c=e.__v;c=
c.__;)if(c.__c){c.__c.__$f|=4;break}var a=B(function(){var f=i.value.value;return f===0?0:f===!0?"":f||""}),s=B(function(){return!Array.isArray(a.value)&&!we(a.
value)}),d=N(function(){if(this.N=mt,s.value){var f=a.value;u.__v&&u.__v.__e&&u.__v.__e.nodeType===3&&(u.__v.__e.data=f)}}),l=e.__$u.d;return e.__$u.d=function(){
d(),l.call(this)},[s,a]},[]),_=r[0],o=r[1];return _.value?o.peek():o.value}vt.displayName="ReactiveTextNode";Object.defineProperties(S.prototype,{constructor:{configurable:!0,
value:K(O,null).constructor},type:{configurable:!0,value:vt},props:{configurable:!0,get:function(){var t2=this;return{data:{get value(){return t2.value}}}}},__b:{
configurable:!0,value:1}});J("__b",function(t2,e){if(ie(),G=void 0,typeof e.type=="string"){var n,i=e.props;for(var r in i)if(r!=="children"){var _=i[r];_ instanceof
S&&(n||(e.__np=n={}),n[r]=_,i[r]=_.peek())}}t2(e)});J("__r",function(t2,e){if(t2(e),e.type!==O){ie();var n,i=e.__c;i&&(i.__$f&=-2,(n=i.__$u)===void 0&&(i.__$u=n=
(function(r,_){var o;return N(function(){o=this},{name:_}),o.c=r,o})((function(r){return function(){var _;qt&&((_=this.y)==null||_.call(this)),r.__$f|=1,r.setState(
{})}})(i),typeof e.type=="function"?e.type.displayName||e.type.name:""))),G=i,ie(n)}});J("__e",function(t2,e,n,i){ie(),G=void 0,t2(e,n,i)});J("diffed",function(t2,e){
ie(),G=void 0;var n;if(typeof e.type=="string"&&(n=e.__e)){var i=e.__np,r=e.props,_=n.U;if(_)for(var o in _){var u=_[o];u===void 0||i&&o in i||(u.d(),_[o]=void 0)}
if(i){_||(_={},n.U=_);for(var c in i){var a=_[c],s=i[c];a===void 0?(a=Lt(n,c,s,r),_[c]=a):a.o(s,r)}}}t2(e)});function Lt(t2,e,n,i){var r=e in t2&&t2.ownerSVGElement===
void 0,_=ne(n);return{o:function(o,u){_.value=o,i=u},d:N(function(){this.N=mt;var o=_.value.value;i[e]!==o&&(i[e]=o,r?t2[e]=o:o!=null&&(o!==!1||e[4]==="-")?t2.setAttribute(
e,o):t2.removeAttribute(e))})}}J("unmount",function(t2,e){if(typeof e.type=="string"){var n=e.__e;if(n){var i=n.U;if(i){n.U=void 0;for(var r in i){var _=i[r];_&&
_.d()}}}var o=e.__np;if(o){var u=e.props;for(var c in o)u[c]=o[c]}e.__np=void 0}else{var a=e.__c;if(a){a.__$f|=8;var s=a.__$u;s&&(a.__$u=void 0,s.d())}}t2(e)});
J("__h",function(t2,e,n,i){i<3&&(e.__$f|=2),t2(e,n,i)});L.prototype.shouldComponentUpdate=function(t2,e){if(this.__R)return!0;var n=this.__$u,i=n&&n.s!==void 0;
for(var r in e)return!0;if(this.__f||typeof this.u=="boolean"&&this.u===!0){var _=2&this.__$f;if(!(i||_||4&this.__$f)||1&this.__$f)return!0}else if(!(i||4&this.
__$f)||3&this.__$f)return!0;for(var o in t2)if(o!=="__source"&&t2[o]!==this.props[o])return!0;for(var u in this.props)if(!(u in t2))return!0;return!1};function dt(t2,e){
return R(function(){return ne(t2,e)},[])}function It(t2,e){var n=le(t2);return n.current=t2,G.__$f|=4,R(function(){return B(function(){return n.current()},e)},[])}
var Vt=typeof requestAnimationFrame>"u"?setTimeout:function(t2){var e=function(){clearTimeout(n),cancelAnimationFrame(i),t2()},n=setTimeout(e,35),i=requestAnimationFrame(
e)},Bt=function(t2){queueMicrotask(function(){queueMicrotask(t2)})};function zt(){te(function(){for(var t2;t2=pt.shift();)He.call(t2)})}function Gt(){pt.push(this)===
1&&(v.requestAnimationFrame||Vt)(zt)}function Jt(){te(function(){for(var t2;t2=ht.shift();)He.call(t2)})}function mt(){ht.push(this)===1&&(v.requestAnimationFrame||
Bt)(Jt)}function Zt(t2,e){var n=le(t2);n.current=t2;var i=G;Me(function(){return N(function(){if(this.N=Gt,!(i&&8&i.__$f))return n.current()},e)},[])}var gt=function(t2,e,n,i){
var r;e[0]=0;for(var _=1;_<e.length;_++){var o=e[_++],u=e[_]?(e[0]|=o?1:2,n[e[_++]]):e[++_];o===3?i[0]=u:o===4?i[1]=Object.assign(i[1]||{},u):o===5?(i[1]=i[1]||
{})[e[++_]]=u:o===6?i[1][e[++_]]+=u+"":o?(r=t2.apply(u,gt(t2,u,n,["",null])),i.push(r),u[0]?e[0]|=2:(e[_-2]=0,e[_]=r)):i.push(u)}return i},yt=new Map;function bt(t2){
var e=yt.get(this);return e||(e=new Map,yt.set(this,e)),(e=gt(this,e.get(t2)||(e.set(t2,e=(function(n){for(var i,r,_=1,o="",u="",c=[0],a=function(l){_===1&&(l||
(o=o.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?c.push(0,l,o):_===3&&(l||o)?(c.push(3,l,o),_=2):_===2&&o==="..."&&l?c.push(4,l,0):_===2&&o&&!l?c.push(5,0,!0,o):_>=5&&
((o||!l&&_===5)&&(c.push(_,0,o,r),_=6),l&&(c.push(_,l,0,r),_=6)),o=""},s=0;s<n.length;s++){s&&(_===1&&a(),a(s));for(var d=0;d<n[s].length;d++)i=n[s][d],_===1?i===
"<"?(a(),c=[c],_=3):o+=i:_===4?o==="--"&&i===">"?(_=1,o=""):o=i+o[0]:u?i===u?u="":o+=i:i==='"'||i==="'"?u=i:i===">"?(a(),_=1):_&&(i==="="?(_=5,r=o,o=""):i==="/"&&
(_<5||n[s][d+1]===">")?(a(),_===3&&(c=c[0]),_=c,(c=c[0]).push(2,0,_),_=0):i===" "||i==="	"||i===`
`||i==="\r"?(a(),_=2):o+=i),_===3&&o==="!--"&&(_=4,c=c[0])}return a(),c})(t2)),e),arguments,[])).length>1?e:e[0]}var an=bt.bind(K);function keep(key,value){try{value?localStorage.setItem(key,value):localStorage.removeItem(key)}catch{}}var keepLanguage=name=>keep("mailer.language",name);function wear(theme){
keep("mailer.theme",theme),theme==="light"||theme==="dark"?document.documentElement.dataset.theme=theme:delete document.documentElement.dataset.theme}var me2=ne(void 0),team=ne(null),membership=B(()=>me2.value?.teams.find(t2=>t2.id===team.value)??null),mayAdmin=B(()=>membership.value?.role==="owner"||membership.
value?.role==="admin");function signedIn(person){let before=stored();team.value=(person.teams.find(t2=>t2.id===before)??person.teams[0])?.id??null,me2.value=person,
wear(person.theme)}function signedOut(){if(me2.value){try{sessionStorage.setItem("mailer.ended","1")}catch{}me2.value=null}}function choose(id){team.value=id;try{
localStorage.setItem("mailer.team",id)}catch{}}function stored(){try{return localStorage.getItem("mailer.team")}catch{return null}}async function stillSignedIn(){
try{let answer=await fetch("/users/me");return await answer.text(),answer.ok}catch{return!1}}var hearing=ne("off"),listeners=new Set;function onLive(fn){return listeners.add(fn),()=>listeners.delete(fn)}var tell=event=>listeners.forEach(fn=>fn(event)),silence=5e3;
async function read(body,heard){let reader=body.pipeThrough(new TextDecoderStream).getReader(),text2="";for(;;){let{done,value}=await reader.read();if(done)return;
heard(),text2+=value;for(let end2;(end2=text2.indexOf(`

`))>=0;text2=text2.slice(end2+2)){let fields=Object.fromEntries(text2.slice(0,end2).split(`
`).map(line2=>[line2.slice(0,line2.indexOf(":")),line2.slice(line2.indexOf(":")+1).trim()]));if(!fields.event)continue;let data;try{data=JSON.parse(fields.data??
"{}")}catch{data={}}tell({name:fields.event,id:data.id,data})}}}async function listen(ended,of){for(let wait=2;!ended.aborted;wait=Math.min(wait*2,30)){let poll=0,
quiet=setTimeout(()=>{hearing.value="polling",poll=window.setInterval(()=>document.hidden||tell({name:"reset"}),silence)},silence),heard=()=>{clearTimeout(quiet),
clearInterval(poll),hearing.value="live",wait=2};try{let answer=await fetch("/live",{headers:of?{"X-Team":of}:{},signal:ended});if(answer.ok&&answer.body)await read(
answer.body,heard),tell({name:"reset"});else if(answer.status===401&&!await stillSignedIn()){signedOut();return}}catch{}if(clearTimeout(quiet),clearInterval(poll),
ended.aborted)return;hearing.value="polling",await new Promise(done=>setTimeout(done,wait*1e3)),tell({name:"reset"})}}var left=ne(!1);function follow(){addEventListener(
"pagehide",()=>{left.value=!0}),addEventListener("pageshow",()=>{left.value&&(left.value=!1,tell({name:"reset"}))}),N(()=>{let of=team.value;if(left.value||!me2.
value||!of&&!me2.value.operator){hearing.value="off";return}let end2=new AbortController;return listen(end2.signal,of),()=>end2.abort()})}var forbidden=/[\s/\\?#%\u0000-\u001f\u007f-\u009f]/,dots=segment=>segment==="."||segment==="..";function decoded(segment){try{return decodeURIComponent(segment)}catch{
return null}}var isId=text2=>!!text2&&text2.length<=320&&!dots(text2)&&!forbidden.test(text2);function idOf(segment){let id=decoded(segment);return isId(id)?id:
null}function encoded(parts,...values2){let path=parts[0];return values2.forEach((value,i)=>{let text2=String(value);if(!path.includes("?")&&text2.split(/[/\\]/).
some(dots))throw new TypeError(`"${text2}" is no id`);path+=encodeURIComponent(text2)+parts[i+1]}),path}var isPath=path=>/^[!-~]+$/.test(path)&&/^(?:\/[^/\\?#]+)+$/.
test(path)&&path.slice(1).split("/").every(segment=>decoded(segment)?.split(/[/\\]/).every(part=>!dots(part))??!1),domainIn=text2=>text2.trim().replace(/^(?:[a-z][a-z0-9+.-]*:\/\/|mailto:)/i,
"").replace(/^[^/?#]*@/,"").replace(/[/?#].*$/s,"").replace(/:\d+$/,"").replace(/\.$/,"").toLowerCase(),providers=/^(gmail|googlemail|outlook|hotmail|live|msn|yahoo|ymail|icloud|me|mac|aol|gmx|web|t-online|proton|protonmail|pm|mail|zoho|yandex|fastmail|hey|qq|163|126|orange|free|laposte|libero|wp|o2|onet|interia)\.(?:com?\.)?[a-z]{2,3}$/;
function ownDomain(address3){let domain=domainIn(address3??"");return providers.test(domain)?"":domain}var fileAt=name=>new URL("./"+name,import.meta.url);var ApiError=class extends Error{constructor(status,body,request2){super(body.message??`The server answered ${status}`),this.status=status,this.name=body.name??
"error",this.request=request2}},silent=ne(0),proof={ask:async()=>!1},proves=path=>path.startsWith("/auth/")||path==="/users/me/password";function address(path,query={}){
let search=new URLSearchParams;for(let[name,value]of Object.entries(query))value!=null&&value!==""&&search.append(name,String(value));let text2=search.toString();
return text2?`${path}?${text2}`:path}async function request(method,path,options={},again=!1){if(!isPath(path))throw new ApiError(0,{name:"not_found",message:"Th\
ere is nothing at this address"},"");let headers={Accept:"application/json",...options.headers},named2=options.team===void 0?team.value:options.team;named2&&(headers["\
X-Team"]=named2);let body;options.body instanceof Blob||options.body instanceof FormData?body=options.body:options.body!==void 0&&(body=JSON.stringify(options.body),
headers["Content-Type"]="application/json");for(let wait=1;;wait=Math.min(wait*2,8)){let answer;try{answer=await fetch(address(path,options.query),{method,headers,
body,signal:options.signal})}catch(e){if(options.signal?.aborted)throw e;if(silent.value||=Date.now(),method!=="GET")throw new ApiError(0,{name:"no_answer",message:"\
The server does not answer"},"");await new Promise(done=>setTimeout(done,wait*1e3));continue}if(answer.status===502||answer.status===504){if(silent.value||=Date.
now(),method==="GET"){await new Promise(done=>setTimeout(done,wait*1e3));continue}}else silent.value=0;if(answer.ok)return answer;let said=await answer.json().catch(
()=>({})),error=new ApiError(answer.status,said,answer.headers.get("X-Request-Id")??"");if(error.status===401&&!proves(path)){if(!again&&path!=="/users/me"&&await stillSignedIn())
return request(method,path,options,!0);signedOut()}if(!(error.name==="reauthentication_required"&&await proof.ask()))throw error}}var json=method=>async(path,body,options={})=>{
let text2=await(await request(method,path,{body,...options})).text();return text2?JSON.parse(text2):null},api={get:async(path,query,options={})=>(await request(
"GET",path,{query,...options})).json(),post:json("POST"),patch:json("PATCH"),put:json("PUT"),read:(path,body,options={})=>json("POST")(path,body,{...options,headers:{
"X-Read-Only":"1",...options.headers}}),del:json("DELETE")},kept=new Map;function keep2(key,value){kept.delete(key),kept.set(key,value),kept.size>50&&kept.delete(
kept.keys().next().value)}var forget=()=>kept.clear();function serialized(ask3){let now=null,next=null,run=()=>now=ask3().finally(()=>{now=null});return()=>now?
next??=now.catch(()=>{}).then(()=>(next=null,run())):run()}var gather=(took,event)=>Math.min(Math.max(event.name==="reset"?1e3:250,took*4),15e3);function useGet(path,query,options={}){
let asked=options.team===void 0?{}:{team:options.team},key=path===null?"":`${(options.team===void 0?team.value:options.team)??""} ${address(path,query)}`,[,draw]=Ut(
0),state=le({key:null});state.current.key!==key&&(state.current={key,data:kept.get(key),error:null,loading:path!==null,took:0});let mine=state.current,reload=R(
()=>serialized(async()=>{if(path===null)return;let began=performance.now();try{mine.data=await api.get(path,query,asked),mine.took=performance.now()-began,mine.
error=null,keep2(key,mine.data)}catch(e){if(!(e instanceof ApiError))throw e;mine.error=e}mine.loading=!1,draw(n=>n+1)}),[key]);Mt(()=>{reload();let ends=[];if(options.
live){let timer=0;ends.push(onLive(event=>{timer||!(event.name==="reset"||options.live?.(event))||(timer=window.setTimeout(()=>{timer=0,reload()},gather(mine.took,
event)))}),()=>clearTimeout(timer))}if(options.every){let timer=setInterval(()=>document.hidden||reload(),options.every*1e3);ends.push(()=>clearInterval(timer))}
return()=>ends.forEach(end2=>end2())},[key]);let set=data=>{mine.data=data,keep2(key,data),draw(n=>n+1)};return{data:mine.data,error:mine.error,loading:mine.loading&&
mine.data===void 0,reload,set}}function useList(path,query={},options={}){let limit=options.limit??50,asked=options.team===void 0?{}:{team:options.team},key=path===
null?"":`${(options.team===void 0?team.value:options.team)??""} list ${address(path,query)}`,[,draw]=Ut(0),state=le({key:null});if(state.current.key!==key){let before=kept.
get(key);state.current={key,rows:before?.rows??[],page:before?.page,error:null,loading:path!==null,fresh:0,took:0}}let mine=state.current,load=async after=>{if(path===
null)return;let began=performance.now();try{let page=await api.get(path,{...query,limit,after},asked);mine.took=performance.now()-began,mine.rows=after?[...mine.
rows,...page.data]:page.data,mine.page=page,mine.error=null,after||(mine.fresh=0),keep2(key,{rows:mine.rows.slice(0,200),page})}catch(e){if(!(e instanceof ApiError))
throw e;mine.error=e}mine.loading=!1,draw(n=>n+1)},first=R(()=>serialized(()=>load()),[key]);Mt(()=>{if(first(),!options.live)return;let timer=0,end2=onLive(event=>{
if(event.name==="reset"||options.live?.(event))if(window.scrollY>200||mine.rows.length>limit){if(options.counts&&!options.counts(event))return;mine.fresh++,draw(
n=>n+1)}else timer||=window.setTimeout(()=>{timer=0,first()},gather(mine.took,event))});return()=>{clearTimeout(timer),end2()}},[key]);let last=mine.page?.searched_to??
mine.rows[mine.rows.length-1]?.id;return{rows:mine.rows,page:mine.page,error:mine.error,loading:mine.loading&&!mine.page,fresh:mine.fresh,more:()=>load(last),reload:first}}var relays=ne(void 0),leaving=ne(void 0),counts=B(()=>({failing:(relays.value??[]).filter(r=>r.state==="failing").length,leaving:leaving.value?.length??0}));async function read2(into,holds,path,query,options,fits=()=>!0){
try{let{data}=await api.get(path,query,options);holds()&&(into.value=data.filter(fits))}catch(e){if(!(e instanceof ApiError))throw e;holds()&&(into.value??=[])}}
async function readRelays(){let person=me2.value;person?.operator&&await read2(relays,()=>me2.value===person,"/relays",{},{team:null})}async function readLeaving(){
let of=team.value;me2.value&&of&&await read2(leaving,()=>team.value===of,"/broadcasts",{limit:20},{},b2=>b2.status==="queued")}function told({id,data}){let rows=leaving.
value??[];return rows.some(b2=>b2.id===id)?(leaving.value=rows.flatMap(b2=>b2.id!==id?[b2]:data.status==="queued"?[{...b2,told:data}]:[]),!1):data.status==="que\
ued"}function watch(){let due=new Set,soon=0,later=ask3=>{due.add(ask3),soon||=window.setTimeout(()=>{soon=0;for(let run of due)run();due.clear()},1500)};leaving.
value=void 0,readRelays(),readLeaving();let timer=setInterval(()=>{document.hidden||(readRelays(),hearing.value!=="live"&&readLeaving())},3e4),end2=onLive(e=>{e.
name==="relay"?later(readRelays):(e.name==="reset"||e.name==="broadcast"&&told(e))&&later(readLeaving)});return()=>{clearInterval(timer),clearTimeout(soon),end2()}}var languages={de:"Deutsch",en:"English",es:"Español",fr:"Français",it:"Italiano",nl:"Nederlands",pl:"Polski",pt:"Português",ja:"日本語",zh:"中文"},words={},
language=ne("en"),address2=name=>new URL(`./i18n/${name}.json`,import.meta.url),preferred=()=>globalThis.early.preferred();async function speak(name){let{early}=globalThis,
answer=name===early.language?await early.words:null;early.words=null,answer??=await fetch(address2(name)),words=await answer.json(),document.documentElement.lang=
name==="zh"?"zh-Hans":name,language.value=name}var find=key=>key.split(".").reduce((at2,part)=>at2?.[part],words);function t(key,values2={}){let text2=find(key);
return text2&&typeof text2=="object"&&(text2=text2[new Intl.PluralRules(language.value).select(Number(values2.n))]??text2.other),typeof text2!="string"?(console.
error(`no words for ${key}`),key):text2.replace(/\{(\w+)\}/g,(all,name)=>name in values2?shown(values2[name]):all)}var shown=value=>typeof value=="number"?value.
toLocaleString(language.value):String(value);function say(key,values2){return t(key,Object.fromEntries(Object.keys(values2).map(k=>[k,values2[k]?.type!==void 0||
Array.isArray(values2[k])?`\0${k}\0`:values2[k]]))).split("\0").map((part,i)=>i%2?values2[part]:part)}var number=(n,options)=>new Intl.NumberFormat(language.value,options).format(n),percent=(part,digits=1)=>number(part*100,{minimumFractionDigits:digits,maximumFractionDigits:digits})+
" %",short=n=>number(n,{notation:"compact",maximumFractionDigits:1});function size(bytes){let units=["B","kB","MB","GB","TB"],i=0;for(;bytes>=1e3&&i<units.length-
1;)bytes/=1e3,i++;return`${number(bytes,{maximumFractionDigits:i&&bytes<100?1:0})} ${units[i]}`}function duration(seconds2){let s=Math.max(0,Math.round(seconds2));
if(s<60)return t("time.s",{n:s});let min=Math.floor(s/60);if(min<60)return t("time.min",{n:min});let h=Math.floor(min/60);return h<10&&min%60?`${t("time.h",{n:h})}\
 ${t("time.min",{n:min%60})}`:h<48?t("time.h",{n:h}):t("time.d",{n:Math.floor(h/24)})}var exact=at2=>new Date(at2).toISOString().replace("T"," ").replace(/\.\d+Z$/,
" UTC");function clock(at2){let d=new Date(at2),today=d.toDateString()===new Date().toDateString();return new Intl.DateTimeFormat(language.value,today?{hour:"2-\
digit",minute:"2-digit",hourCycle:"h23"}:{day:"numeric",month:"short",...d.getFullYear()===new Date().getFullYear()?{}:{year:"numeric"},hour:"2-digit",minute:"2\
-digit",hourCycle:"h23"}).format(d)}var seconds=at2=>new Intl.DateTimeFormat(language.value,{timeStyle:"medium",hourCycle:"h23"}).format(new Date(at2)),stamp=at2=>new Date(
at2).toDateString()===new Date().toDateString()?seconds(at2):t("time.joined",{one:day(at2),two:seconds(at2)});function gap(from,to){let ms=Math.max(0,new Date(to).
getTime()-new Date(from).getTime());return ms<1e3?t("email.ms",{ms}):ms<6e4?t("time.s",{n:Math.round(ms/100)/10}):duration(ms/1e3)}var day=at2=>new Intl.DateTimeFormat(
language.value,{day:"numeric",month:"short"}).format(new Date(at2));function relative(at2){let s=(Date.now()-new Date(at2).getTime())/1e3;return Math.abs(s)<1?t(
"time.now"):s>0?duration(s):t("time.in",{span:duration(-s)})}function ago(at2){let said=relative(at2);return Date.now()-new Date(at2).getTime()<1e3?said:t("time\
.ago",{span:said})}function mailbox(mailbox2){let m=/^\s*"?(.*?)"?\s*<([^<>]+)>\s*$/.exec(mailbox2);return m?{name:m[1],address:m[2]}:{name:"",address:mailbox2}}var same=(a,b2)=>JSON.stringify(a)===JSON.stringify(b2);function variantsOf(variants,base2,names){let whole=variant=>Object.fromEntries(names.map(name=>[name,variant[name]??
null])),changed=Object.entries(variants??{}).filter(([of,variant])=>!base2?.[of]||!same(whole(variant),whole(base2[of])));return Object.fromEntries([...changed.
map(([of,variant])=>[of,whole(variant)]),...Object.keys(base2??{}).filter(of=>!variants?.[of]).map(of=>[of,null])])}function mergedVariants(theirs,base2,own2){let out={
...theirs};for(let[of,variant]of Object.entries(own2))same(variant,base2?.[of])||(out[of]=variant);for(let of of Object.keys(base2??{}))own2[of]||delete out[of];
return out}var pages=[["/emails","sending#why-did-it-not-arrive"],["/broadcasts","broadcasts"],["/contacts","audience"],["/segments","audience#segments"],["/topics","audie\
nce#topics"],["/properties","audience#properties"],["/imports","audience#import"],["/suppressions","opt-outs#suppressions"],["/templates","writing"],["/blocks",
"writing#saved-blocks"],["/images","writing#images"],["/domains","domains"],["/keys","sending#keys"],["/smtp","smtp"],["/webhooks","events"],["/requests","api#t\
he-log-of-requests"],["/reputation","reputation"],["/usage","plans"],["/queue","queue"],["/team","people"],["/audit","teams#who-did-what"],["/account","sign-in#\
second-factor"],["/operator/relays","relays"],["/operator/reports","provider-events"],["/operator/teams","teams"],["/operator/people","people"],["/operator/heal\
th","watching#doctor"],["/operator/backups","backups"],["/operator/disk","retention"],["/operator/settings","settings"],["/operator","operating"],["/","dashboar\
d"]];function helpOf(path){let found=pages.find(([begins])=>path===begins||path.startsWith(`${begins}/`));return found?`/manual/${found[1]}`:"/manual"}var base="/dashboard",here=()=>({path:location.pathname.slice(base.length).replace(/\/+$/,"")||"/",query:new URLSearchParams(location.search),hash:location.hash.
slice(1)}),place=ne(here()),scrolled=new Map,entry="";function go(to,{replace=!1}={}){replace||(scrolled.set(entry,window.scrollY),entry=crypto.randomUUID()),history[replace?
"replaceState":"pushState"]({entry},"",base+to);let before=place.value.path;place.value=here(),!replace&&place.value.path!==before&&(window.scrollTo(0,0),document.
getElementById("main")?.focus({preventScroll:!0}))}function setQuery(parts){let query=new URLSearchParams(place.value.query);for(let[name,value]of Object.entries(
parts))value?query.set(name,value):query.delete(name);let text2=query.toString();go(place.value.path+(text2?`?${text2}`:""),{replace:!0})}var href=to=>base+to;function start(){
history.scrollRestoration="manual",entry=history.state?.entry??crypto.randomUUID(),history.replaceState({entry},""),addEventListener("popstate",e=>{scrolled.set(
entry,window.scrollY),entry=e.state?.entry??"",place.value=here();let to=scrolled.get(entry)??0;requestAnimationFrame(()=>requestAnimationFrame(()=>window.scrollTo(
0,to)))}),addEventListener("click",e=>{let a=e.target.closest?.("a[href]");!(a instanceof HTMLAnchorElement)||e.defaultPrevented||e.button||e.metaKey||e.ctrlKey||
e.shiftKey||e.altKey||a.target||a.hasAttribute("download")||a.origin!==location.origin||!(a.pathname===base||a.pathname.startsWith(base+"/"))||(e.preventDefault(),
go(a.pathname.slice(base.length)+a.search+a.hash||"/"))})}function match(pattern,path){let want=pattern.split("/"),have=path.split("/");if(want.length!==have.length)
return null;let params={};for(let i=0;i<want.length;i++){if(!want[i].startsWith(":")){if(want[i]!==have[i])return null;continue}let id=idOf(have[i]);if(id===null)
return null;params[want[i].slice(1)]=id}return params}var icons=fileAt("icons.svg").pathname,Icon=({name,class:more=""})=>an`<svg class=${`icon ${more}`} aria-hidden="true"><use href=${`${icons}#i-${name}`} /></svg>`,
dialogs=ne(0);function Button({icon,label,kind="",href:href2,onClick,disabled,type="button",children,class:more="",busy:held=!1,...rest2}){let[own2,setOwn]=Ut(-1),
busy=own2>=0&&dialogs.value<=own2||held,alive=le(!0);Me(()=>()=>{alive.current=!1},[]);let classes=["btn",...kind.split(" ").filter(Boolean).map(k=>`btn--${k}`),
children?"":"btn--icon",more].filter(Boolean).join(" "),inside=an`${busy?an`<span class="spin"></span>`:icon&&an`<${Icon} name=${icon} />`}${children}`;return href2?
an`<a class=${classes} href=${href2} aria-label=${label} title=${label} ...${rest2}>${inside}</a>`:an`<button type=${type} class=${classes} onClick=${async e=>{
if(own2>=0||held||!onClick)return;let before=dialogs.value,doing2=onClick(e);if(doing2?.then){setOwn(before);try{await doing2}finally{alive.current&&setOwn(-1)}}}} disabled=${disabled} aria-busy=${busy?
"true":void 0} aria-label=${label} title=${label} ...${rest2}>${inside}</button>`}var states={queued:["","st-queued"],scheduled:["","st-scheduled"],sent:["","st\
-sent"],delivered:["good","st-delivered"],opened:["good","st-opened"],clicked:["good","st-clicked"],delivery_delayed:["warn","st-delayed"],bounced:["bad","st-bo\
unced"],failed:["bad","st-bounced"],complained:["bad","st-complained"],suppressed:["","st-suppressed"],canceled:["","st-canceled"],deferred:["warn","st-delayed"],
captured:["","st-captured"],held:["warn","st-resting"],open:["good","st-open"],resting:["warn","st-resting"],paused:["","st-resting"],failing:["bad","st-failing"],
down:["bad","st-failing"],sending:["","st-sent"],completed:["good","check"],draft:["","edit"],published:["good","check"],enabled:["good","check"],disabled:["bad",
"minus"],verified:["good","check"],pending:["warn","alert"],not_started:["","minus"],temporary_failure:["warn","alert"],missing:["bad","alert"],wrong:["bad","al\
ert"],ok:["good","check"],good:["good","check"],warn:["warn","alert"],bad:["bad","alert"],neutral:["","minus"]};function Status({of,word}){let[kind,icon]=states[of]??
["","minus"];return an`<span class=${`status ${kind&&`status--${kind}`}`}><${Icon} name=${icon} />${word??t(`status.${of}`)}</span>`}function Time({at:at2,as="r\
elative"}){let[,tick]=Ut(0);return Me(()=>{if(!at2||as==="clock")return;let young=Math.abs(Date.now()-new Date(at2).getTime())<6e4,timer=setTimeout(()=>tick(n=>n+
1),young?1e3:15e3);return()=>clearTimeout(timer)}),at2?an`<time datetime=${at2} title=${exact(at2)}>${as==="clock"?clock(at2):as==="ago"?ago(at2):as==="both"?t(
"time.both",{clock:clock(at2),relative:relative(at2)}):relative(at2)}</time>`:an`<span class="muted">–</span>`}function useEscape(close,on=!0){Me(()=>{if(!on)
return;let keys2=e=>e.key==="Escape"&&!e.defaultPrevented&&!dialogs.value&&close();return addEventListener("keydown",keys2),()=>removeEventListener("keydown",keys2)})}
async function copy(text2){try{return await navigator.clipboard.writeText(text2),!0}catch{let area=document.createElement("textarea");area.value=text2,area.className=
"vh",document.body.append(area),area.select();let done=document.execCommand("copy");return area.remove(),done}}function Copy({text:text2,show,shown:shown2=!1,mono=!0}){
let[done,setDone]=Ut(!1),click=async e=>{e.preventDefault(),e.stopPropagation(),setDone(await copy(text2)),setTimeout(()=>setDone(!1),1500)};return an`<button type="button" class=${`\
copy ${shown2?"copy--shown":""} ${done?"is-done":""}`} title=${t("ui.copy")} onClick=${click}>
		<span class=${`cut ${mono?"mono":""}`}>${show??text2}</span><${Icon} name=${done?"check":"copy"} /><span class="vh" role="status">${done?t("ui.copied"):""}</span></button>`}
var Id=({of})=>an`<${Copy} text=${of} show=${of.length>20?`${of.slice(0,8)}…${of.slice(-6)}`:of} />`;function Head({title,path,note,under,children,text:text2}){
let words3=text2??(typeof title=="string"?title:"");return Me(()=>{document.title=words3?`${words3} · Mailer`:"Mailer"},[words3]),an`<header class=${`head ${under?
"head--thing":""}`}>${path&&under?an`<div class="head-thing"><nav class="crumbs" aria-label=${t("ui.path")}>${path.map(([name,to])=>an`<a href=${to}><${Icon} name="left" />${name}</a>`)}${note}</nav><h1>${title}</h1><p class="head-under">${under}</p></div>`:
path?an`<nav class="crumbs" aria-label=${t("ui.path")}>${path.map(([name,to])=>an`<a href=${to}>${name}</a><${Icon} name="right" />`)}<h1 class="cut" aria-current="page">${title}</h1>${note}</nav>`:
an`<div class="head-title"><h1>${title}</h1>${note}</div>`}
		<a class="head-help" href=${helpOf(place.value.path)} aria-label=${t("ui.manual")} title=${t("ui.manual")}><${Icon} name="info" /></a>
		${children&&an`<div class="head-acts">${children}</div>`}</header>`}var Sections=({label,links,at:at2})=>an`<nav class="tabs" aria-label=${label}>${links.map(
([name,to,count])=>an`<a class="tab" href=${to} aria-current=${to===at2?"page":void 0}>${name}${count!==void 0&&an` <span class="tab-count">${typeof count=="num\
ber"?number(count):count}</span>`}</a>`)}</nav>`;function Tabs({label,tabs,at:at2,onChange,in:within=!1}){let keys2=e=>{let i=tabs.findIndex(([id])=>id===at2),to={
ArrowRight:i+1,ArrowLeft:i-1,Home:0,End:tabs.length-1}[e.key];if(to===void 0)return;e.preventDefault();let next=tabs[(to+tabs.length)%tabs.length][0];onChange(next);
let list2=e.currentTarget;requestAnimationFrame(()=>list2.querySelector('[aria-selected="true"]')?.focus())},list=le(null);return Me(()=>{let row=list.current,tab=row.
querySelector('[aria-selected="true"]');if(!tab)return;let start2=tab.offsetLeft-row.offsetLeft;row.scrollLeft=Math.max(start2+tab.offsetWidth+16-row.clientWidth,
Math.min(row.scrollLeft,start2-16))},[at2]),an`<div class=${`tabs ${within?"tabs--in":""}`} role="tablist" ref=${list} aria-label=${label} onKeyDown=${keys2}>${tabs.
map(([id,name,count])=>an`<button type="button" class="tab" role="tab" key=${id} aria-selected=${String(id===at2)} tabindex=${id===at2?void 0:-1} onClick=${()=>onChange(
id)}>${name}${count?an` <span class="tab-count">${typeof count=="number"?number(count):count}</span>`:null}</button>`)}</div>`}var Seg=({label,options,value,onChange})=>an`<div class="seg" role="group" aria-label=${label}>${options.
map(([id,name,icon])=>an`<button type="button" key=${id} aria-pressed=${String(id===value)} aria-label=${icon?name:void 0} title=${icon?name:void 0} onClick=${()=>onChange(
id)}>${icon?an`<${Icon} name=${icon} />`:name}</button>`)}</div>`;function Field({label,hint,error,children}){let id=jt(),about2=error?`${id}e`:hint?`${id}h`:void 0;
return an`<div class="field"><label class="field-label" for=${id}>${label}</label>
		${children({id,"aria-describedby":about2,"aria-invalid":error?"true":void 0})}
		${error?an`<span class="field-error" id=${`${id}e`} role="alert"><${Icon} name="alert" />${error}</span>`:hint&&an`<span class="field-hint" id=${`${id}h`}>${hint}</span>`}</div>`}
var Input=({label,value,onInput,hint,error,mono,class:more="",lines,...rest2})=>an`<${Field} label=${label} hint=${hint} error=${error}>${attributes=>lines?an`<textarea class=${`\
input ${mono?"mono":""} ${more}`} rows=${lines} onInput=${e=>onInput(e.currentTarget.value)} ...${attributes} ...${rest2} value=${value}></textarea>`:an`<input class=${`\
input ${mono?"mono":""} ${more}`} value=${value} onInput=${e=>onInput(e.currentTarget.value)} ...${attributes} ...${rest2} />`}<//>`;function Select({label,value,
options,onChange,hint,error,bare=!1,...rest2}){let box=attributes=>an`<span class="select-wrap"><select class="select" value=${value} onChange=${e=>onChange(e.currentTarget.
value)} ...${attributes} ...${rest2}>${options.map(([id,name])=>an`<option value=${id} selected=${id===value}>${name}</option>`)}</select><${Icon} name="down" /></span>`;
return bare?box({"aria-label":label}):an`<${Field} label=${label} hint=${hint} error=${error}>${box}<//>`}var Check=({label,checked,onChange,kind,name,disabled,
hidden})=>an`<label class=${`check ${kind==="switch"?"switch":""}`}><input type=${kind==="radio"?"radio":"checkbox"} role=${kind==="switch"?"switch":void 0} name=${name} checked=${checked} disabled=${disabled} aria-label=${hidden?
label:void 0} onChange=${e=>onChange(e.currentTarget.checked)} />${hidden?null:label}</label>`,Notice=({kind="",icon=kind==="bad"||kind==="warn"?"alert":kind===
"good"?"check":"info",children,act})=>an`<div class=${`notice wide ${kind&&`notice--${kind}`}`} role=${kind==="bad"?"alert":void 0}><${Icon} name=${icon} /><p class="grow">${children}</p>${act}</div>`,
Ghost=({rows})=>an`<table class="table table--fixed ghost" aria-hidden="true"><tbody>${rows.map(cells=>an`<tr>${cells.map((cell,i)=>an`<td class=${i===0?"cell-c\
ut":i===cells.length-1?"num w-to":"cell-cut hide-s"}>${cell}</td>`)}</tr>`)}</tbody></table>`,Empty=({icon,title,children,act,ghost})=>an`${ghost&&an`<${Ghost} rows=${ghost} />`}<div class="empty"><${Icon} name=${icon} /><h3>${title}</h3>${children&&
an`<p>${children}</p>`}${act&&an`<div class="row">${act}</div>`}</div>`,Failed=({error,retry:retry3,title})=>an`<div class="empty" role="alert"><${Icon} name="alert" class="bad" /><h3>${title??
(error.status===404?t("ui.gone"):t("ui.unread"))}</h3>
	<p>${error.message}${error.status?an` <span class="muted">${error.status} ${error.name}</span>`:""}${error.request&&error.status>=500?an` ${t("ui.request")} <code>${error.
request}</code>`:""}</p>
	${retry3&&an`<div class="row"><${Button} icon="refresh" onClick=${retry3}>${t("ui.again")}<//></div>`}</div>`;function Bones({rows=8}){let[shown2,show]=Ut(!1);
return Me(()=>{let timer=setTimeout(()=>show(!0),150);return()=>clearTimeout(timer)},[]),an`<div class="bones" role="status"><span class="vh">${t("ui.loading")}</span>${shown2&&
an`<table class="table table--rows table--fixed" aria-hidden="true"><tbody>${Array.from({length:rows},()=>an`<tr><td class="w-status"><span class="bone bone--1"></span></td><td class="w-to hide-s"><span class="bone bone--2"></span></td><td><span class="bone bone--3"></span></td><td class="w-age"><span class="bone bone--4"></span></td></tr>`)}</tbody></table>`}</div>`}
var Facts=({pairs,class:more=""})=>an`<dl class=${`kv ${more}`}>${pairs.filter(([,value])=>value!=null&&value!=="").map(([name,value])=>an`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
function Section({title,acts,children}){let id=jt();return an`<section class="section" aria-labelledby=${title?id:void 0}>${title&&an`<div class="section-head"><h2 id=${id}>${title}</h2>${acts}</div>`}${children}</section>`}
var Code=({code,name,tabs,at:at2,onTab})=>an`<div class="code"><div class="code-head">${tabs?an`<div class="row" role="tablist" aria-label=${name}>${tabs.map(([
id,word])=>an`<button type="button" class="tab" role="tab" aria-selected=${String(id===at2)} onClick=${()=>onTab?.(id)}>${word}</button>`)}</div>`:an`<span>${name}</span>`}<span class="push"></span><${CopyButton} text=${code} /></div><pre tabindex="0">${code}</pre></div>`;
function CopyButton({text:text2,label}){let[done,setDone]=Ut(!1);return an`<${Button} icon=${done?"check":"copy"} kind="quiet" label=${label??t("ui.copy")} onClick=${async()=>{
setDone(await copy(text2)),setTimeout(()=>setDone(!1),1500)}} />`}var Verdict=({kind,icon,line:line2,fix,acts})=>an`<section class=${`verdict verdict--${kind}`} aria-label=${t(
"ui.verdict")}><${Icon} name=${icon??{good:"check",warn:"alert",bad:"alert"}[kind]??"info"} /><p class="verdict-line">${line2}</p>${fix&&an`<p class="verdict-fix">${fix}</p>`}${acts&&
an`<div class="verdict-acts">${acts}</div>`}</section>`;var rest=800,retry=5e3,prefix="mailer.draft.",place2=id=>prefix+id;function forgetDrafts(){try{for(let key of Object.keys(localStorage))key.startsWith(prefix)&&
localStorage.removeItem(key)}catch{}}function stored2(key){try{return JSON.parse(localStorage.getItem(key)??"null")}catch{return null}}function store(key,value){
try{value?localStorage.setItem(key,JSON.stringify(value)):localStorage.removeItem(key)}catch{}}function placeOf(message){let at2=/\(line (\d+)(?:, column (\d+))?\)$/.
exec(message),field=/(?:variants\.([\w-]+)\.)?\b(subject|preview_text|html|text)\b/.exec(message);return at2&&field?{language:field[1]??"",field:field[2],line:Number(
at2[1]),column:Number(at2[2]??1)}:null}var Saver=class{id;path;revision;body;draw;keepSoon=null;due=null;at=null;answer=null;hurried=!1;constructor({id,path,server,
revision,body,draw}){Object.assign(this,{id,path,revision,body,draw}),this.value={...server},this.base={...server},this.began=revision(server),this.dirty=new Set,
this.state={kind:"saved",at:0},this.stamp=0,this.saved=0;let left2=stored2(place2(id));left2&&store(`${place2(id)}.kept`,left2),this.kept=stored2(`${place2(id)}\
.kept`),this.kept&&Object.keys(this.kept.value).every(k=>JSON.stringify(this.kept.value[k])===JSON.stringify(server[k]))&&this.forget(),store(place2(id),null)}change(parts){
this.value={...this.value,...parts};for(let name of Object.keys(parts))this.dirty.add(name);this.keepSoon??=setTimeout(()=>this.keep(),250),this.state.kind==="f\
ailed"&&!this.hurried&&(clearTimeout(this.due),this.due=null,this.hurried=!0),this.state.kind!=="conflict"&&(this.due??=setTimeout(()=>this.save(),rest)),this.draw()}keep(){
clearTimeout(this.keepSoon),this.keepSoon=null,store(place2(this.id),this.dirty.size?{at:Date.now(),value:Object.fromEntries([...this.dirty].map(name=>[name,this.
value[name]]))}:null)}async save(){if(clearTimeout(this.due),this.due=null,this.hurried=!1,this.at&&(await this.at,!this.dirty.size))return this.state.kind==="s\
aved";if(!this.dirty.size)return!0;this.at=this.send();let done=await this.at;return this.at=null,done}async send(){let names=[...this.dirty],sent=Object.fromEntries(
names.map(name=>[name,this.value[name]]));this.state={kind:"saving"},this.draw();try{let body=this.body(sent,this.value,this.base),answer=await api.patch(this.path,
{...body,revision:this.began});this.began=this.revision(answer),this.answer=answer,this.base={...this.base,...sent};for(let name of names)this.value[name]===sent[name]&&
this.dirty.delete(name);this.state={kind:"saved",at:Date.now()},this.saved++,this.dirty.size&&(this.due??=setTimeout(()=>this.save(),rest))}catch(e){if(!(e instanceof
ApiError))throw e;e.status===409&&e.name==="conflict"?this.state={kind:"conflict"}:e.status===422?this.state={kind:"refused",message:e.message,place:placeOf(e.message)}:
(this.state={kind:"failed",message:e.message},this.due??=setTimeout(()=>this.save(),retry))}return this.keep(),this.draw(),this.state.kind==="saved"}async settle(mine){
let now=await api.get(this.path);if(!mine)return this.take(now),!0;this.began=this.revision(now);let own2=Object.fromEntries([...this.dirty].map(name=>[name,this.
value[name]]));return own2.variants&&(own2.variants=mergedVariants(now.variants,this.base.variants,own2.variants)),this.value={...now,...own2},this.base={...now},
this.stamp++,this.draw(),this.save()}take(now){clearTimeout(this.due),this.due=null,this.dirty.clear(),this.value={...now},this.base={...now},this.began=this.revision(
now),this.state={kind:"saved",at:0},this.stamp++,this.saved++,this.keep(),this.draw()}redraw(){this.stamp++,this.draw()}takeBack(){let{value}=this.kept;this.stamp++,
this.drop(),this.change(value)}forget(){this.kept=null,store(`${place2(this.id)}.kept`,null)}drop(){this.forget(),this.draw()}end(){this.keep(),clearTimeout(this.
due),this.dirty.size&&this.state.kind!=="conflict"&&this.save(),this.draw=()=>{}}};function useDraft(options){let[,tick]=Ut(0),alive=le(!0),saver=R(()=>new Saver(
{...options,draw:()=>alive.current&&tick(n=>n+1)}),[options.id]);Me(()=>{alive.current=!0;let hide=()=>{saver.keep(),saver.dirty.size&&saver.state.kind!=="confl\
ict"&&saver.save()};return addEventListener("pagehide",hide),document.addEventListener("visibilitychange",hide),()=>{alive.current=!1,removeEventListener("pageh\
ide",hide),document.removeEventListener("visibilitychange",hide),saver.end()}},[saver]);let{value,state,stamp:stamp2,saved,kept:kept4,answer,path}=saver;return{
value,state,stamp:stamp2,saved,kept:kept4,answer,path,unsaved:saver.dirty.size>0,change:parts=>saver.change(parts),save:()=>saver.save(),settle:mine=>saver.settle(
mine),take:now=>saver.take(now),takeBack:()=>saver.takeBack(),drop:()=>saver.drop(),redraw:()=>saver.redraw(),now:()=>saver.value,refused:state.kind==="refused"?
state:null}}function Saved({draft}){let{state}=draft;return state.kind==="failed"?an`<span class="saved bad" role="status"><${Icon} name="alert" /><span class="cut" title=${state.
message}>${t("drafts.failed",{message:state.message})}</span></span>`:state.kind==="refused"?an`<span class="saved bad" role="status"><${Icon} name="alert" /><span class="cut" title=${state.
message}>${t("drafts.refused",{message:state.message})}</span></span>`:state.kind==="conflict"?an`<span class="saved warn" role="status"><${Icon} name="alert" /><span class="cut">${t(
"drafts.conflict")}</span></span>`:state.kind==="saving"||draft.unsaved?an`<span class="saved" role="status"><span class="spin"></span>${t("drafts.saving")}</span>`:
an`<span class="saved" role="status"><${Icon} name="check" />${state.at?an`<time datetime=${new Date(state.at).toISOString()} title=${exact(new Date(state.at))}>${t(
"drafts.saved",{time:seconds(state.at)})}</time>`:t("drafts.asRead")}</span>`}function Left({draft}){return draft.state.kind==="conflict"?an`<${Notice} kind="warn" act=${an`<span class="row row--wrap"><${Button} onClick=${()=>draft.
settle(!1)}>${t("drafts.theirs")}<//><${Button} onClick=${()=>draft.settle(!0)}>${t("drafts.mine")}<//></span>`}>${t("drafts.conflictText")}<//>`:draft.kept?an`<${Notice} act=${an`<span class="row row--wrap"><${Button} onClick=${()=>draft.
takeBack()}>${t("drafts.takeBack")}<//><${Button} kind="quiet" onClick=${()=>draft.drop()}>${t("drafts.drop")}<//></span>`}>${t("drafts.kept",{time:seconds(draft.
kept.at)})}<//>`:null}var kinds={emails:"mail",contacts:"user",broadcasts:"broadcast",segments:"audience",templates:"template",domains:"globe",webhooks:"webhook"},recentPlace=()=>`ma\
iler.recent.${team.value??""}`;function recent(){try{let all=JSON.parse(sessionStorage.getItem(recentPlace())??"[]");return Array.isArray(all)?all:[]}catch{return[]}}
function noteVisits(){let noting=0;N(()=>{let{path}=place.value;clearTimeout(noting);let m=/^\/(\w+)\/([^/]+)/.exec(path);!m||!(m[1]in kinds)||(noting=window.setTimeout(
()=>{let name=document.title.replace(/ · Mailer$/,"");if(!(place.value.path!==path||!name||name==="Mailer"))try{sessionStorage.setItem(recentPlace(),JSON.stringify(
[{to:path,name,kind:m[1]},...recent().filter(r=>r.to!==path)].slice(0,8)))}catch{}},1500))})}var publicRoutes=[["/sign-in",()=>import("./sign-in.js")],["/setup",()=>import("./setup.js")],["/link",()=>import("./link.js")],["/invitation",()=>import("./invitation.js")]],
routes=[["/",()=>import("./overview.js")],["/emails",()=>import("./emails.js")],["/emails/:id",()=>import("./email.js")],["/broadcasts",()=>import("./broadcasts.js")],
["/broadcasts/:id",()=>import("./composer.js")],["/broadcasts/:id/review",()=>import("./review.js")],["/broadcasts/:id/report",()=>import("./report.js")],["/con\
tacts",()=>import("./contacts.js")],["/contacts/:id",()=>import("./contact.js")],["/segments",()=>import("./segments.js")],["/segments/:id",()=>import("./segment.js")],
["/topics",()=>import("./topics.js")],["/properties",()=>import("./properties.js")],["/imports",()=>import("./imports.js")],["/imports/:id",()=>import("./import.js")],
["/suppressions",()=>import("./suppressions.js")],["/templates",()=>import("./templates.js")],["/templates/:id",()=>import("./template.js")],["/blocks",()=>import("./blocks.js")],
["/blocks/:id",()=>import("./block.js")],["/images",()=>import("./images.js")],["/domains",()=>import("./domains.js")],["/domains/:id",()=>import("./domain.js")],
["/keys",()=>import("./keys.js")],["/smtp",()=>import("./smtp.js")],["/webhooks",()=>import("./webhooks.js")],["/webhooks/:id",()=>import("./webhook.js")],["/re\
quests",()=>import("./requests.js")],["/requests/:id",()=>import("./request.js")],["/reputation",()=>import("./reputation.js")],["/usage",()=>import("./usage.js")],
["/queue",()=>import("./queue.js")],["/team",()=>import("./team.js")],["/audit",()=>import("./audit.js")],["/account",()=>import("./account.js")],["/operator/re\
lays",()=>import("./relays.js")],["/operator/reports",()=>import("./reports.js")],["/operator/teams",()=>import("./teams.js")],["/operator/people",()=>import("./people.js")],
["/operator/health",()=>import("./health.js")],["/operator/backups",()=>import("./backups.js")],["/operator/settings",()=>import("./settings.js")],["/operator/d\
isk",()=>import("./disk.js")]],redirects={"/audience":"/contacts","/people":"/team","/settings":"/team?part=settings"},navigation=[["mail",[["/","overview",!0],
["/emails","mail",!0],["/broadcasts","broadcast",!0],["/templates","template",!1,["/blocks","/images"]],["/queue","queue",!0],["/reputation","gauge",!1,["/usage"]]]],
["audience",[["/contacts","audience",!1,["/segments","/topics","/properties","/imports","/suppressions"]]]],["developers",[["/domains","globe",!1],["/keys","key",
!1,["/smtp"]],["/webhooks","webhook",!1],["/requests","list",!1]]],["server",[["/operator/relays","relay",!1,["/operator/reports"]],["/operator/teams","teams",!1,
["/operator/people"]],["/operator/health","health",!1,["/operator/backups","/operator/settings","/operator/disk"]]]],["settings",[["/team","settings",!1,["/audi\
t"]]]]];var open=ne([]);function dialog(draw){return new Promise(done=>{let entry2={draw,close:answer=>{open.value=open.value.filter(e=>e!==entry2),dialogs.value=open.value.
length,done(answer)}};open.value=[...open.value,entry2],dialogs.value=open.value.length})}function useAsked(open2){Me(()=>{place.value.query.get("add")&&(setQuery(
{add:null}),open2())},[])}var DialogBody=({title,children,acts,onSubmit})=>an`<form onSubmit=${e=>{e.preventDefault(),onSubmit?.(e)}}><div class="dialog-body"><h2 id="dialog-title">${title}</h2>${children}</div><div class="dialog-acts">${acts}</div></form>`,
confirm=({title,text:text2,act,keep:keep4,n=0})=>dialog(close=>an`<${Confirm} ...${{title,text:text2,act,keep:keep4,n,close}} />`);function Confirm({title,text:text2,
act,keep:keep4,n,close}){let[typed2,type]=Ut(""),held=n>1e3&&typed2.replace(/\D/g,"")!==String(n);return an`<${DialogBody} title=${title} onSubmit=${()=>held||close(
!0)} acts=${an`<${Button} onClick=${()=>close(!1)}>${keep4??t("ui.keep")}<//><${Button} type="submit" kind="danger-solid" disabled=${held}>${act}<//>`}>
		<p>${text2}</p>${n>1e3&&an`<${Input} label=${t("ui.typeNumber",{number:number(n)})} value=${typed2} onInput=${type} inputmode="numeric" autocomplete="off" />`}<//>`}
function Dialogs(){return open.value.map((entry2,i)=>an`<${Dialog} key=${i} entry=${entry2} />`)}function Dialog({entry:entry2}){let box=le(null);return Me(()=>{
let element=box.current;return element.showModal(),()=>element.close()},[]),an`<dialog class="dialog" ref=${box} aria-labelledby="dialog-title" onCancel=${e=>{e.
preventDefault(),entry2.close()}} onClick=${e=>e.target===box.current&&entry2.close()}>${entry2.draw(entry2.close)}</dialog>`}var toasts=ne([]);function toast(text2,{
kind="good",undo,href:href2,word}={}){let entry2={text:text2,kind,undo,href:href2,word};toasts.value=[...toasts.value.slice(-2),entry2],kind!=="bad"&&setTimeout(
()=>drop(entry2),undo?8e3:5e3)}var drop=entry2=>{toasts.value=toasts.value.filter(e=>e!==entry2)},Toasts=()=>an`<div class="toasts" role="status" aria-live="polite">${toasts.
value.map(entry2=>an`<div class="toast"><${Icon} name=${entry2.kind==="bad"?"alert":entry2.kind==="good"?"check":"info"} class=${entry2.kind} /><span class="grow">${entry2.
text}</span>
	${entry2.undo&&an`<${Button} kind="quiet" onClick=${()=>(drop(entry2),entry2.undo())}>${t("ui.undo")}<//>`}${entry2.href&&an`<a class="btn btn--quiet" href=${entry2.
href} onClick=${()=>drop(entry2)}>${entry2.word}</a>`}
	<${Button} icon="x" kind="quiet" label=${t("ui.close")} onClick=${()=>drop(entry2)} /></div>`)}</div>`;async function attempt(act,done,options){try{let result=await act();
return done&&toast(typeof done=="function"?done(result):done,options),result}catch(e){if(!(e instanceof ApiError))throw e;toast(e.message,{kind:"bad"});return}}
function Menu({items,label,icon="more",children,kind="",class:more=""}){let[shown2,show]=Ut(!1),box=le(null);Me(()=>{if(!shown2)return;(box.current.querySelector(
'[aria-checked="true"]')??box.current.querySelector('[role^="menuitem"]'))?.focus();let away=e=>box.current?.contains(e.target)||show(!1);return addEventListener(
"pointerdown",away),()=>removeEventListener("pointerdown",away)},[shown2]);let keys2=e=>{if(!shown2)return;let all=[...box.current.querySelectorAll('[role^="men\
uitem"]')],at2=all.indexOf(document.activeElement),to={ArrowDown:at2+1,ArrowUp:at2-1,Home:0,End:all.length-1}[e.key];if(e.key==="Escape"||e.key==="Tab"){if(show(
!1),e.key!=="Escape")return;e.preventDefault(),box.current.querySelector("button")?.focus()}else to!==void 0&&(e.preventDefault(),all[(to+all.length)%all.length]?.
focus())},some=items.filter((item,i,all)=>item!==void 0&&item!==!1&&!(item===null&&(i===0||i===all.length-1)));return an`<span class="menu-wrap" ref=${box} onKeyDown=${keys2}>
		<button type="button" class=${more||`btn ${kind&&`btn--${kind}`} ${children?"":"btn--icon"}`} aria-haspopup="menu" aria-expanded=${String(shown2)} aria-label=${children?
void 0:label} title=${children?void 0:label} onClick=${()=>show(!shown2)}>${children??an`<${Icon} name=${icon} />`}</button>
		${shown2&&an`<div class="menu menu--float" role="menu" aria-label=${label}>${some.map(item=>item===null?an`<hr />`:item.href?an`<a class="menu-item" role="menuitem" tabindex="-1" href=${item.
href} download=${item.download} onClick=${()=>show(!1)}>${item.icon&&an`<${Icon} name=${item.icon} />`}<span class="cut">${item.name}</span>${item.note&&an`<span class="menu-note">${item.
note}</span>`}</a>`:an`<button type="button" class=${`menu-item ${item.danger?"bad":""}`} role=${item.checked===void 0?"menuitem":"menuitemradio"} tabindex="-1" disabled=${item.
disabled} aria-checked=${item.checked===void 0?void 0:String(item.checked)} onClick=${()=>{show(!1),item.run()}}>${item.icon&&an`<${Icon} name=${item.icon} />`}<span class="cut">${item.
name}</span>${item.note&&an`<span class="menu-note">${item.note}</span>`}${item.checked&&an`<${Icon} name="check" class="push" />`}</button>`)}</div>`}</span>`}proof.ask=async()=>(await import("./ui/confirm.js")).prove();var openPalette=async()=>(await import("./ui/palette.js")).openPalette(),openKeys=async()=>(await import("./ui/palette.js")).
openKeys(),allowed=to=>to==="/team"?mayAdmin.value||me2.value?.operator:!to.startsWith("/operator/")||me2.value?.operator,titleOf=to=>t(`${to.split("/").pop()||
"overview"}.title`);function Side(){let[more,setMore]=Ut(!1),at2=place.value.path;Me(()=>setMore(!1),[at2]),Me(watch,[team.value]);let count={"/operator/relays":counts.
value.failing>0&&["failing",!0],"/broadcasts":counts.value.leaving>0&&["leaving",!1]},own2=membership.value;useEscape(()=>setMore(!1),more);let within=(to,also=[])=>to===
at2||to!=="/"&&at2.startsWith(to+"/")||also.some(b2=>at2===b2||at2.startsWith(b2+"/"));return an`<aside class=${`side ${more?"is-open":""}`}>
		<${Menu} label=${t("shell.teams")} class="side-team" items=${[...me2.value.teams.map(one=>({name:one.name,note:t(`roles.${one.role}`),checked:one.id===team.value,
run:()=>{forget(),choose(one.id),go("/")}}))]}><span class="mark" aria-hidden="true">${(own2?.name??"M").slice(0,1).toUpperCase()}</span><span class="cut">${own2?.
name??t("shell.noTeam")}</span><${Icon} name="updown" /><//>
		<button type="button" class="side-find" onClick=${()=>openPalette()}><${Icon} name="search" /><span class="cut">${t("shell.find")}</span><span class="kbd">${/Mac/.
test(navigator.platform)?"⌘K":"Ctrl K"}</span></button>
		<nav aria-label=${t("shell.main")}>${navigation.map(([group,links])=>{let mine=links.filter(([to])=>allowed(to));return mine.length?an`<div class="nav-group"><p class="nav-name">${t(
`shell.${group}`)}</p>${mine.map(([to,icon,bar,also])=>an`<a class=${`nav-item ${bar?"in-bar":""}`} href=${base+to} title=${titleOf(to)} aria-current=${within(to,
also)?"page":void 0}><${Icon} name=${icon} /><span class="cut">${titleOf(to)}</span>${count[to]&&an`<span class=${`nav-count hide-s ${count[to][1]?"is-bad":""}`}>${t(
`shell.${count[to][0]}`,{n:counts.value[count[to][0]]})}</span>`}</a>`)}</div>`:null})}<button type="button" class="nav-item in-bar nav-more" aria-current=${navigation.
some(([,links])=>links.some(([to,,bar,also])=>bar&&within(to,also)))?void 0:"true"} aria-expanded=${String(more)} onClick=${()=>setMore(!more)}><${Icon} name="menu" /><span class="cut">${t(
"shell.more")}</span></button></nav>
		<${Menu} label=${t("shell.account")} class="side-user" items=${[{icon:"user",name:t("shell.account"),href:base+"/account"},{icon:"info",name:t("shell.manual"),
href:"/manual"},{icon:"list",name:t("shell.keysHelp"),note:"?",run:openKeys},null,{icon:"lock",name:t("shell.signOut"),run:()=>attempt(async()=>{await api.post(
"/auth/sign-out",void 0,{team:null}),forget(),forgetDrafts(),me2.value=null})}]}><${Icon} name="user" /><span class="cut">${me2.value.name||me2.value.email}</span><//>
	</aside>`}function Banner(){let[,tick]=Ut(0);return Me(()=>{if(!silent.value)return;let timer=setInterval(()=>tick(n=>n+1),500);return()=>clearInterval(timer)},
[silent.value]),!silent.value||Date.now()-silent.value<1500?null:an`<div class="banner" role="status"><span class="spin"></span>${t("shell.silent")}</div>`}var loaded=new Map;
async function loadPage({name,load}){let module=await load();loaded.set(name,module.default)}function Page({load,params,name,open:open2=!1}){let[failed,setFailed]=Ut(
null),[,draw]=Ut(0),View=loaded.get(name);return Me(()=>{if(View)return;let current=!0;return loadPage({name,load}).then(()=>current&&draw(n=>n+1),error=>current&&
setFailed({name,error})),()=>{current=!1}},[name]),View?an`<${View} key=${`${open2?"":team.value} ${JSON.stringify(params)}`} params=${params} />`:failed?.name!==
name?null:an`<${Failed} title=${t("shell.stale")} error=${new ApiError(0,{message:t("shell.staleText")},"")} retry=${()=>location.reload()} />`}function findRoute(pages3,path){
for(let[pattern,load]of pages3){let params=match(pattern,path);if(params)return{name:pattern,load,params}}return null}function preload(e){let a=e.target.closest?.(
"a[href]");if(!me2.value||!(a instanceof HTMLAnchorElement)||a.origin!==location.origin)return;let page=findRoute(routes,a.pathname.slice(base.length)||"/");page&&
!loaded.has(page.name)&&loadPage(page).catch(()=>{})}async function preloadRest(){let dialogs2=[()=>import("./ui/palette.js"),()=>import("./ui/confirm.js")],pages3=routes.
filter(([name])=>!loaded.has(name)&&allowed(name)).map(([name,load])=>()=>loadPage({name,load})),idle=()=>new Promise(done=>window.requestIdleCallback?requestIdleCallback(
done):setTimeout(done,200));for(let load of[...pages3,...dialogs2]){await idle();try{await load()}catch{return}}}var needsFactor=path=>membership.value?.second_factor_required&&
!me2.value.second_factor.length&&path!=="/account"&&!path.startsWith("/operator/");function App(){language.value;let{path}=place.value,open2=findRoute(publicRoutes,
path);if(open2)return an`<${Page} ...${open2} open /><${Dialogs} /><${Toasts} />`;if(me2.value===void 0)return null;if(me2.value===null)return queueMicrotask(()=>go(
`/sign-in?to=${encodeURIComponent(path+location.search)}`,{replace:!0})),null;if(Object.hasOwn(redirects,path))return queueMicrotask(()=>go(redirects[path],{replace:!0})),
null;let page=needsFactor(path)?null:findRoute(routes,path),forbidden2=page&&!allowed(page.name);return an`<a class="btn skip" href="#main" onClick=${e=>{e.preventDefault(),
document.getElementById("main")?.focus()}}>${t("shell.skip")}</a><div class="app"><${Side} /><main class="main" id="main" tabindex="-1"><${Banner} />${needsFactor(
path)?an`<${Empty} icon="shield" title=${t("shell.factor",{team:membership.value.name})} act=${an`<${Button} kind="primary" href=${base+"/account?part=sign-in"}>${t(
"shell.factorAct")}<//>`}>${t("shell.factorText")}<//>`:forbidden2?an`<${Head} title=${t("shell.shut")} /><${Empty} icon="lock" title=${t("shell.shutOf")} act=${an`<${Button} href=${base+
"/"}>${t("overview.title")}<//>`}>${t("shell.shutText")}<//>`:page?an`<${Page} ...${page} />`:an`<${Head} title=${t("shell.nowhere")} /><${Empty} icon="search" title=${path} act=${an`<${Button} href=${base+
"/"}>${t("overview.title")}<//>`}>${t("shell.nowhereText")}<//>`}</main></div><${Dialogs} /><${Toasts} />`}addEventListener("keydown",e=>{(e.metaKey||e.ctrlKey)&&
e.key.toLowerCase()==="k"&&me2.value?(e.preventDefault(),openPalette()):e.key==="?"&&me2.value&&!e.target.closest("input, textarea, select, [contenteditable], .\
cm-editor")&&openKeys()});addEventListener("pointerover",preload);addEventListener("focusin",preload);async function loadMe(){try{let answer=await globalThis.early.
me;signedIn(answer?.ok?await answer.json():await api.get("/users/me",void 0,{team:null}))}catch(e){if(!(e instanceof ApiError))throw e;me2.value=null}}async function boot(){
start(),follow(),noteVisits();let open2=findRoute(publicRoutes,place.value.path),page=open2??findRoute(routes,place.value.path);await Promise.all([speak(preferred()),
open2?me2.value=null:loadMe(),page&&loadPage(page).catch(()=>{})]),me2.value?.language&&me2.value.language!==language.value&&await speak(me2.value.language).catch(
()=>{}),Nt(an`<${App} />`,document.getElementById("root")),setTimeout(()=>me2.value&&preloadRest(),1e3)}boot();var enough=4.5,white="#ffffff",ink="#1b1f27",stacks={system:"system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",arial:"Arial, He\
lvetica, sans-serif",verdana:"Verdana, Geneva, sans-serif",georgia:"Georgia, 'Times New Roman', serif",times:"'Times New Roman', Times, serif",courier:"'Courier\
 New', Courier, monospace"},isColor=text2=>/^#[0-9a-f]{6}$/i.test(text2);function luminance(color){let[r,g,b2]=[1,3,5].map(at2=>{let c=parseInt(color.slice(at2,
at2+2),16)/255;return c<=.04045?c/12.92:((c+.055)/1.055)**2.4});return .2126*r+.7152*g+.0722*b2}var contrast=color=>1.05/(luminance(color)+.05);function between(text2,card){
let[a,b2]=[luminance(text2||ink),luminance(card||white)];return(Math.max(a,b2)+.05)/(Math.min(a,b2)+.05)}function colorsOf(color){if(!color)return{button:ink,on:white,
link:ink};let dark=contrast(color)>=4.5;return{button:color,on:dark?white:"#000000",link:dark?color:ink}}var high=48,wide=240;function kitOf(brand){let part=brand.
logo_width?Math.min(1,high/brand.logo_height,wide/brand.logo_width):0;return{name:brand.name,footer:brand.footer,colors:brand.color?colorsOf(brand.color):null,font:brand.
font==="system"?null:brand.font_stack,logo:brand.logo_url&&{src:brand.logo_url,shown:part?new URL(brand.logo_url).pathname:null,width:part?Math.max(1,Math.round(
brand.logo_width*part)):null,height:part?Math.max(1,Math.round(brand.logo_height*part)):high}}}var pages2=["contacts","segments","topics","properties","imports","suppressions"],AudienceSections=({at:at2})=>an`<${Sections} label=${t("audience.title")} at=${`${base}\
/${at2}`} links=${pages2.map(page=>[t(`audience.${page}`),`${base}/${page}`])} />`;function Search({label,value,name="search"}){let[typed2,type]=Ut(value),written2=le(
value);return Me(()=>{value!==written2.current&&type(value),written2.current=value},[value]),Me(()=>{if(typed2.trim()===written2.current)return;let timer=setTimeout(
()=>{written2.current=typed2.trim(),setQuery({[name]:written2.current})},250);return()=>clearTimeout(timer)},[typed2]),an`<div class="query"><div class="query-box"><${Icon} name="search" /><input class="query-input" type="search" aria-label=${label} placeholder=${label} value=${typed2} onInput=${e=>type(
e.currentTarget.value)} spellcheck="false" autocomplete="off" /></div></div>`}var form=options=>dialog(close=>an`<${Form} ...${options} close=${close} />`);function Form({
title,start:start2,fields,act,send,kind="primary",close}){let[values2,setValues]=Ut(start2),[refused,setRefused]=Ut(""),[busy,setBusy]=Ut(!1);return an`<${DialogBody} title=${title} onSubmit=${async()=>{
if(!busy){setBusy(!0);try{close(await send(values2)??!0)}catch(e){if(!(e instanceof ApiError))throw e;setRefused(e.message),setBusy(!1)}}}} acts=${an`<${Button} kind="quiet" onClick=${()=>close()}>${t(
"ui.cancel")}<//><${Button} type="submit" kind=${kind} disabled=${busy}>${act}<//>`}>
		${refused&&an`<${Notice} kind="bad">${refused}<//>`}${fields(values2,change=>setValues(before=>({...before,...change})))}<//>`}var nameOf=contact=>[contact.first_name,
contact.last_name].filter(Boolean).join(" "),Subscribed=({of})=>an`<${Status} of=${of.unsubscribed?"canceled":"open"} word=${t(of.unsubscribed?"contacts.unsubsc\
ribed":"contacts.subscribed")} />`;function useCount(body){let[answer,setAnswer]=Ut(null),key=JSON.stringify(body);return Me(()=>{let end2=new AbortController;return api.
read("/segments/preview",body,{signal:end2.signal}).then(setAnswer,error=>{if(!(error instanceof ApiError)&&!end2.signal.aborted)throw error}),()=>end2.abort()},
[key]),answer}var segmentChoice=(segments,none)=>[["",none],...segments.map(s=>[s.id,s.name])];async function addContact(segments,done){let made=await form({title:t("contacts\
.add"),act:t("contacts.add"),start:{email:"",first_name:"",last_name:"",segment:""},fields:(v2,set)=>an`<${Input} label=${t("contacts.email")} type="email" required autofocus autocomplete="off" value=${v2.
email} onInput=${email=>set({email})} />
			<div class="cols cols--form"><${Input} label=${t("contacts.firstName")} value=${v2.first_name} onInput=${first_name=>set({first_name})} /><${Input} label=${t(
"contacts.lastName")} value=${v2.last_name} onInput=${last_name=>set({last_name})} /></div>
			${segments.length>0&&an`<${Select} label=${t("contacts.segment")} value=${v2.segment} options=${segmentChoice(segments,t("ui.none"))} onChange=${segment=>set(
{segment})} />`}`,send:v2=>api.post("/contacts",{email:v2.email.trim(),first_name:v2.first_name||void 0,last_name:v2.last_name||void 0,segments:v2.segment?[v2.segment]:
void 0})});made&&(toast(t("contacts.added"),{href:href(encoded`/contacts/${made.id}`),word:t("contacts.show")}),done())}var typed=(type,text2)=>text2===""?null:
type==="number"&&Number.isFinite(Number(text2))?Number(text2):text2;async function editContact(contact,declared,done){let has=contact.properties??{},keys2=[...declared.
map(p=>[p.key,p.type]),...Object.entries(has).filter(([key])=>!declared.some(p=>p.key===key)).map(([key,p])=>[key,p.type])],before=Object.fromEntries(keys2.map(
([key])=>[key,has[key]===void 0?"":String(has[key].value)]));await form({title:t("contacts.edit"),act:t("ui.save"),start:{email:contact.email,first_name:contact.
first_name??"",last_name:contact.last_name??"",properties:before},fields:(v2,set)=>an`<${Input} label=${t("contacts.email")} type="email" required value=${v2.email} onInput=${email=>set(
{email})} hint=${v2.email===contact.email?"":t("contacts.emailMoves")} />
			<div class="cols cols--form"><${Input} label=${t("contacts.firstName")} value=${v2.first_name} onInput=${first_name=>set({first_name})} /><${Input} label=${t(
"contacts.lastName")} value=${v2.last_name} onInput=${last_name=>set({last_name})} /></div>
			${keys2.map(([key,type])=>an`<${Input} key=${key} label=${an`<span class="mono">${key}</span>`} inputmode=${type==="number"?"decimal":void 0} value=${v2.properties[key]} onInput=${value=>set(
{properties:{...v2.properties,[key]:value}})} />`)}`,send:v2=>{let properties=Object.fromEntries(keys2.filter(([key])=>v2.properties[key]!==before[key]).map(([key,
type])=>[key,typed(type,v2.properties[key])]));return api.patch(encoded`/contacts/${contact.id}`,{email:v2.email.trim()===contact.email?void 0:v2.email.trim(),first_name:v2.
first_name||null,last_name:v2.last_name||null,properties:Object.keys(properties).length?properties:void 0})}})&&done()}async function toSegment(contacts,segments,done){
let n=contacts.length,put=await form({title:t("contacts.toSegmentTitle",{n}),act:t("contacts.toSegmentAct",{n}),start:{segment:segments[0]?.id??""},fields:(v2,set)=>an`<${Select} label=${t(
"contacts.segment")} value=${v2.segment} options=${segments.map(s=>[s.id,s.name])} onChange=${segment=>set({segment})} />`,send:async v2=>(await api.post("/cont\
acts/batch",contacts.map(c=>({email:c.email,segments:[v2.segment]})),{query:{on_conflict:"skip"}}),v2.segment)});put&&(toast(t("contacts.toSegmentDone",{n,segment:segments.
find(s=>s.id===put)?.name??""}),{href:href(encoded`/segments/${put}`),word:t("contacts.show")}),done())}async function removeContacts(contacts,done){let n=contacts.
length,gone=await form({title:n===1?t("contacts.removeOne",{email:contacts[0].email}):t("contacts.removeTitle",{n}),act:t("contacts.removeAct",{n}),kind:"danger\
-solid",start:{erase:!1},fields:(v2,set)=>an`<p>${t("contacts.removeText")}</p><${Check} label=${t("contacts.erase")} checked=${v2.erase} onChange=${erase=>set(
{erase})} />${v2.erase&&an`<p class="muted">${t("contacts.eraseText")}</p>`}`,send:v2=>api.post("/contacts/batch/remove",{ids:contacts.map(c=>c.id),...v2.erase?
{erase:!0}:{}})});gone&&(toast(t("contacts.removed",{n:gone.data.length})),done())}var rank=["queued","scheduled","requeued","resent","deferred","delivery_delayed","interrupted","in_doubt","held","canceled","sent","prefetched","delivered","ope\
ned","clicked","unsubscribed","suppressed","failed","bounced","complained"],looks={queued:["","queued"],scheduled:["","scheduled"],rescheduled:["","scheduled"],
sent:["","sent"],delivered:["good","delivered"],opened:["good","opened"],prefetched:["","opened"],clicked:["good","clicked"],deferred:["warn","delayed"],delivery_delayed:[
"warn","delayed"],interrupted:["warn","delayed"],in_doubt:["warn","delayed"],relay_trouble:["warn","failing"],quota_wait:["warn","resting"],held:["warn","restin\
g"],captured:["","captured"],released:["","queued"],moved:["","queued"],requeued:["","queued"],resent:["","sent"],bounced:["bad","bounced"],failed:["bad","bounc\
ed"],complained:["bad","complained"],suppressed:["","suppressed"],canceled:["","canceled"],unsubscribed:["","canceled"]},lookOf=type=>looks[type]??["","queued"];
function replyOf(detail){let code=[detail.reply_code,detail.enhanced_code].filter(Boolean).join(" ");return[code,detail.reply||detail.diagnostic||(code?"":detail.
reason||"")]}function recipientsOf(email,events){return[...email.to,...email.cc,...email.bcc].map(mailbox).map(box=>{let own2=events.filter(e=>!e.recipient||e.recipient.
toLowerCase()===box.address.toLowerCase()),begun=own2.findIndex(e=>e.type==="requeued"),since=begun<0?own2:own2.slice(0,begun+1),freed=since.findIndex(e=>e.type===
"released"),best=since[since.length-1];for(let[n,e]of[...since.entries()].reverse())!(e.type==="held"&&freed>=0&&n>freed)&&rank.indexOf(e.type)>=rank.indexOf(best.
type)&&(best=e);let type=best?.type??email.last_event;return{...box,type,state:type==="sent"&&best?.detail.relay==="capture"?"captured":{deferred:"deferred",requeued:"\
queued",resent:"queued",interrupted:"queued",in_doubt:"queued",prefetched:"delivered",unsubscribed:"clicked"}[type]??(rank.includes(type)?type:email.state),event:best,
next:type==="deferred"?best.detail.next_attempt_at:void 0}})}function dialogueOf(conversation){return conversation.split(`
`).filter(Boolean).map(line2=>{let who=/^[<>*] /.test(line2)?line2[0]:"*",text2=who===line2[0]?line2.slice(2):line2,kind=who===">"?text2.startsWith("(")?"is-not\
e":"is-client":who==="*"?"is-note":/^4\d\d/.test(text2)?"is-warn":/^5\d\d/.test(text2)?"is-bad":"";return{who,text:text2,kind}})}function curlOf(email){let body=Object.
fromEntries(["from","to","cc","bcc","reply_to","subject","html","text","tags","headers"].map(k=>[k,email[k]]).filter(([,v2])=>v2&&(typeof v2=="string"||(Array.isArray(
v2)?v2.length:Object.keys(v2).length)))),text2=JSON.stringify(body,null,2).replace(/'/g,"'\\''");return`curl ${location.origin}/emails \\
  -H "Authorization: Bearer $MAILER_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${text2}'`}var statuses=["queued","scheduled","deferred","held","captured","sent","delivery_delayed","delivered","opened","clicked","bounced","complained","suppressed","fa\
iled","canceled"],sources=["api","smtp","dashboard","cli","mcp","resend"],keys=["to","from","subject","status","domain","tag","source","key","broadcast","before",
"after","id"],uuid=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,addressOf=filters=>{let text2=new URLSearchParams(filters).toString();return`\
/emails${text2?`?${text2}`:""}`},isId2=text2=>uuid.test(text2.trim());function timeOf(word,now=new Date){let text2=word.trim().toLowerCase(),midnight=new Date(now.
getFullYear(),now.getMonth(),now.getDate());if(text2==="now")return now;if(text2==="today")return midnight;if(text2==="yesterday")return new Date(midnight.getFullYear(),
midnight.getMonth(),midnight.getDate()-1);let ago2=/^(\d{1,5})\s?(m|min|h|d|w)$/.exec(text2);if(ago2)return new Date(now.getTime()-Number(ago2[1])*{m:60,min:60,
h:3600,d:86400,w:604800}[ago2[2]]*1e3);let date=/^(\d{4})-(\d\d)-(\d\d)$/.exec(text2),at2=date?new Date(Number(date[1]),Number(date[2])-1,Number(date[3])):/^\d{4}-\d\d-\d\dt\d\d:\d\d/.
test(text2)?new Date(word.trim()):null;return!at2||Number.isNaN(at2.getTime())||date&&at2.getDate()!==Number(date[3])?null:at2}var timeOfId=id=>new Date(parseInt(
id.replace(/-/g,"").slice(0,12),16));function read3(text2){let filters={},rest2=text2.replace(/(^|\s)([a-z_]+):(?:"([^"]*)"|(\S+))/gi,(all,before,name,quoted2,plain)=>{
let key=name.toLowerCase();return keys.includes(key)?(filters[key]=quoted2??plain,before):all}).replace(/\s+/g," ").trim();if(rest2){let plain=rest2.replace(/^"(.*)"$/,
"$1");filters[isId2(plain)?"id":plain.includes("@")&&!plain.includes(" ")?"to":"subject"]=plain}return filters}function named(rows,value){if(isId2(value))return{
id:value};let low=value.toLowerCase();return rows?.find(r=>r.name.toLowerCase()===low)??rows?.find(r=>r.name.toLowerCase().includes(low))}function ask(filters,known){
let query={},wrong={},waits=!1;for(let[key,value]of Object.entries(filters))if(key==="status")value.split(",").every(one=>statuses.includes(one))?query.state=value:
wrong.status=t("emails.wrong.status",{value});else if(key==="source"&&!sources.includes(value))wrong.source=t("emails.wrong.source",{value});else if(key==="befo\
re"||key==="after"){let at2=timeOf(value);at2?query[`created_${key}`]=new Date(Math.floor(at2.getTime()/6e4)*6e4).toISOString():wrong[key]=t("emails.wrong.time",
{value})}else if(key==="key"||key==="broadcast"){let rows=key==="key"?known.keys:known.broadcasts,row=named(rows,value);row?query[`${key}_id`]=row.id:rows?wrong[key]=
t(`emails.wrong.${key}`,{value}):waits=!0}else key==="id"?isId2(value)||(wrong.id=t("emails.wrong.id",{value})):query[key]=value;if(query.created_after&&query.created_before&&
query.created_after>=query.created_before&&(wrong.before=t("emails.wrong.order")),filters.broadcast)for(let key of Object.keys(filters))key!=="broadcast"&&(wrong[key]=
t("emails.wrong.alone"));return{query,wrong,waits}}var written=(key,value)=>`${key}:${/\s/.test(value)?`"${value}"`:value}`;function completions(typed2,known){let text2=typed2.
trimStart(),pair=/^([a-z]+):(.*)$/i.exec(text2);if(pair&&keys.includes(pair[1].toLowerCase())){let key=pair[1].toLowerCase(),value=pair[2].replace(/^"|"$/g,"").
trim(),some=values(key,known).filter(v2=>v2.value.toLowerCase().includes(value.toLowerCase())&&v2.value!==value);some.sort((a,b2)=>Number(b2.value.startsWith(value))-
Number(a.value.startsWith(value)));let closed=key==="status"||key==="source";return{name:key,sure:closed&&value!==""&&some.length>0,items:[...value&&!closed?[{key,
value,note:meaning(key,value)}]:[],...some.slice(0,12)]}}let low=text2.trim().toLowerCase(),doors=keys.filter(k=>k.startsWith(low)).map(key=>({key,note:t(`email\
s.keys.${key}`)}));if(!low)return{name:t("emails.filters"),items:doors};let plain=read3(text2),own2=Object.entries(plain).map(([key,value])=>({key,value,note:t(
`emails.keys.${key}`)})),other=low.includes(" ")||plain.id?[]:plain.to?[{key:"from",value:text2.trim(),note:t("emails.keys.from")}]:[{key:"to",value:text2.trim(),
note:t("emails.toBegins")}],states2=statuses.filter(s=>s.startsWith(low)).map(value=>({key:"status",value,note:t(`emails.states.${value}`),status:value}));return{
name:t("emails.meant"),items:[...own2,...other,...states2,...doors]}}function meaning(key,value){let at2=key==="before"||key==="after"?timeOf(value):null;return at2?
exact(at2):t(`emails.keys.${key}`)}function values(key,known){switch(key){case"status":return statuses.map(value=>({key,value,note:t(`emails.states.${value}`),status:value}));case"\
source":return sources.map(value=>({key,value,note:t(`emails.sources.${value}`)}));case"domain":return(known.domains??[]).map(d=>({key,value:d.name,note:t(`stat\
us.${d.status}`)}));case"key":return(known.keys??[]).map(k=>({key,value:k.name,note:k.id}));case"broadcast":return(known.broadcasts??[]).map(b2=>({key,value:b2.
name,note:t(`status.${b2.status}`)}));case"before":case"after":return["today","yesterday","1h","24h","7d","30d"].map(value=>({key,value,note:exact(timeOf(value)??
new Date)}))}return[]}function QueryBox({filters,wrong,known,onChange,onNeed}){let[typed2,type]=Ut(""),[shown2,show]=Ut(!1),[chosen,setAt]=Ut(-1),input=le(null),box=le(null);Me(()=>{
let slash=e=>{e.key!=="/"||e.ctrlKey||e.metaKey||e.altKey||e.target.closest?.("input, textarea, select, dialog, [contenteditable]")||(e.preventDefault(),input.current.
focus())},away=e=>box.current?.contains(e.target)||show(!1);return addEventListener("keydown",slash),addEventListener("pointerdown",away),()=>{removeEventListener(
"keydown",slash),removeEventListener("pointerdown",away)}},[]);let{name,items,sure=!1}=shown2?completions(typed2,known):{name:"",items:[]},at2=chosen<0&&sure?0:
chosen,put=more=>{onChange({...filters,...more}),type(""),setAt(-1)},take=item=>{item.value===void 0?(type(`${item.key}:`),setAt(-1),onNeed()):(put({[item.key]:item.
value}),show(!1)),input.current.focus()},edit=key=>{let{[key]:value,...rest2}=filters;onChange(rest2),type(written(key,value)),show(!0),input.current.focus()},onKey=e=>{
let step={ArrowDown:1,ArrowUp:-1}[e.key];if(step)e.preventDefault(),shown2?items.length&&setAt(at2<0&&step<0?items.length-1:(at2+step+items.length)%items.length):
show(!0);else if(e.key==="Escape")!shown2&&typed2&&type(""),show(!1),setAt(-1);else if(e.key==="Tab"&&shown2&&typed2.trim()&&items.length&&!e.shiftKey){e.preventDefault();
let best=items.find(item=>item.value!==void 0&&!typed2.endsWith(item.value))??items[0];take(at2>=0?items[at2]:best)}else if(e.key==="Enter")if(e.preventDefault(),
at2>=0&&items[at2])take(items[at2]);else if(typed2.trim()){if(/^[a-z]+:\s*$/i.test(typed2))return;put(read3(typed2)),show(!1)}else show(!1);else e.key==="Backsp\
ace"&&!typed2&&Object.keys(filters).length&&(e.preventDefault(),edit(Object.keys(filters)[Object.keys(filters).length-1]))},bad=Object.entries(wrong);return an`<div class="query" ref=${box}><div class="query-box" onClick=${e=>e.
target===e.currentTarget&&input.current.focus()}><${Icon} name="search" />
		${Object.entries(filters).map(([key,value])=>an`<span class=${`token query-token ${wrong[key]?"is-bad":""}`} key=${key}><button type="button" title=${wrong[key]??
t("emails.editToken")} aria-label=${`${t("emails.editToken")}: ${written(key,value)}`} onClick=${()=>edit(key)}><b>${key}:</b><bdi>${value}</bdi></button><button type="button" aria-label=${t(
"emails.dropToken",{token:written(key,value)})} onClick=${()=>{let{[key]:gone,...rest2}=filters;onChange(rest2),input.current.focus()}}><${Icon} name="x" /></button></span>`)}
		<input class="query-input" ref=${input} role="combobox" aria-expanded=${String(shown2&&items.length>0)} aria-controls="completion" aria-autocomplete="list" aria-activedescendant=${at2>=
0?`completion-${at2}`:void 0} aria-label=${t("emails.search")} aria-describedby=${bad.length?"query-wrong":void 0}
			placeholder=${Object.keys(filters).length?"":t("emails.placeholder")} value=${typed2} spellcheck=${!1} autocomplete="off" onFocus=${onNeed} onClick=${()=>show(
!0)} onKeyDown=${onKey} onInput=${e=>{type(e.currentTarget.value),show(!0),setAt(-1),onNeed()}} /></div>
		${bad.length>0&&an`<p class="query-wrong field-error" id="query-wrong" role="alert"><${Icon} name="alert" />${bad.map(([,text2])=>text2).filter((text2,i,all)=>all.
indexOf(text2)===i).join(" ")}</p>`}
		${shown2&&items.length>0&&an`<div class="menu"><div role="listbox" id="completion" class="query-list" aria-label=${t("emails.completion")}><div class="menu-name" role="presentation">${name}</div>
		${items.map((item,i)=>an`<div class="menu-item" role="option" id=${`completion-${i}`} key=${`${item.key}:${item.value??""}`} aria-selected=${String(i===at2)} onMouseDown=${e=>e.
preventDefault()} onClick=${()=>take(item)}>${item.status?an`<${Status} of=${item.status} word=${item.value} />`:an`<span class="mono cut">${item.key}:${item.value??
""}</span>`}<span class="menu-note cut">${item.note}</span></div>`)}</div>
		<div class="menu-foot hide-s"><span><span class="kbd">↑</span><span class="kbd">↓</span> ${t("emails.foot.choose")}</span><span><span class="kbd">⇥</span> ${t(
"emails.foot.take")}</span><span><span class="kbd">↵</span> ${t("emails.foot.search")}</span></div></div>`}</div>`}var spans=["1h","24h","7d","30d"];function Picks({
filters,domains=[],onChange}){let pick=key=>value=>{let{[key]:gone,...rest2}=filters;onChange(value?{...rest2,[key]:value}:rest2)},choice=(key,label,any,options)=>an`<${Select} bare label=${label} value=${filters[key]??
""} onChange=${pick(key)} options=${[["",any],...options,...filters[key]&&!options.some(([value])=>value===filters[key])?[[filters[key],filters[key]]]:[]]} />`;
return an`<div class="picks">${choice("status",t("emails.status"),t("emails.pick.anyStatus"),statuses.map(s=>[s,t(`status.${s}`)]))}
	${choice("after",t("emails.pick.date"),t("emails.pick.anyDate"),spans.map(s=>[s,t(`emails.pick.since.${s}`)]))}
	${(domains.length>1||filters.domain)&&choice("domain",t("emails.pick.domain"),t("emails.pick.anyDomain"),domains.map(d=>[d.name,d.name]))}</div>`}var everybodys=[["all",{}],["delayed",{status:"deferred,delivery_delayed"}],["held",{status:"held"}],["bounced",{status:"bounced"}],["failed",{status:"failed"}],
["complained",{status:"complained"}],["scheduled",{status:"scheduled"}]],captured=["captured",{status:"captured"}],place3=()=>`mailer.views.${team.value??""}`;function kept2(){
try{let views=JSON.parse(localStorage.getItem(place3())??"[]");return Array.isArray(views)?views.filter(v2=>Array.isArray(v2)&&typeof v2[0]=="string"&&v2[1]&&typeof v2[1]==
"object"):[]}catch{return[]}}function keep3(views){try{return localStorage.setItem(place3(),JSON.stringify(views)),!0}catch{return!1}}function drop2(filters,key){
let{[key]:gone,...rest2}=filters;return addressOf(rest2)}var same2=(a,b2)=>JSON.stringify(Object.entries(a).sort())===JSON.stringify(Object.entries(b2).sort()),
ask2=()=>dialog(close=>an`<${Name} close=${close} />`);function Name({close}){let[name,setName]=Ut("");return an`<${DialogBody} title=${t("emails.views.save")} onSubmit=${()=>name.
trim()&&close(name.trim())} acts=${an`<${Button} kind="quiet" onClick=${()=>close()}>${t("ui.cancel")}<//><${Button} type="submit" kind="primary" disabled=${!name.
trim()}>${t("ui.save")}<//>`}>
		<${Input} label=${t("emails.views.name")} hint=${t("emails.views.where")} value=${name} onInput=${setName} maxlength="40" autofocus /><//>`}function Views({filters,
wrong}){let[,draw]=Ut(0),own2=kept2(),common=me2.value.capturing?[...everybodys,captured]:everybodys,mine=own2.find(([,f])=>same2(f,filters)),known=mine||common.
some(([,f])=>same2(f,filters)),set=views=>{keep3(views)||toast(t("emails.views.refused"),{kind:"bad"}),draw(n=>n+1)},save=async()=>{let name=await ask2();name&&
set([...own2.filter(([n])=>n!==name),[name,filters]])},remove=()=>{set(own2.filter(v2=>v2!==mine)),toast(t("emails.views.removed",{name:mine?.[0]??""}),{undo:()=>set(
own2)})},link=(name,f)=>an`<a class="view" href=${base+addressOf(f)} aria-current=${same2(f,filters)?"true":void 0} onClick=${e=>{e.metaKey||e.ctrlKey||e.shiftKey||
(e.preventDefault(),go(addressOf(f)))}}><bdi>${name}</bdi></a>`;return an`<nav class="views" aria-label=${t("emails.views.title")}>${common.map(([name,f])=>link(
t(`emails.views.${name}`),f))}${own2.map(([name,f])=>link(name,f))}
		${mine?an`<button type="button" class="view" onClick=${remove}><${Icon} name="x" />${t("emails.views.remove")}</button>`:!known&&!wrong&&Object.keys(filters).
length>0&&an`<button type="button" class="view" onClick=${save}><${Icon} name="bookmark" />${t("emails.views.save")}</button>`}</nav>`}async function sendDialog(){let id=await dialog(close=>an`<${Send} close=${close} />`);typeof id=="string"&&go(encoded`/emails/${id}`)}function Send({close}){let domains=useGet(
"/domains",{limit:100}),[form2,setForm]=Ut({to:me2.value?.email??"",subject:t("send.subjectOf"),text:t("send.textOf")}),[refused,setRefused]=Ut(""),set=name=>value=>setForm(
{...form2,[name]:value}),good=domains.data?.data.filter(d=>d.status==="verified")??[],from=form2.from??(good[0]?`hello@${good[0].name}`:""),send=async()=>{try{let to=form2.
to.split(",").map(a=>a.trim()).filter(Boolean);close((await api.post("/emails",{from,to,subject:form2.subject,text:form2.text})).id)}catch(e){if(!(e instanceof ApiError))
throw e;setRefused(e.message)}};if(domains.error)return an`<${DialogBody} title=${t("send.title")} acts=${an`<${Button} onClick=${()=>close()}>${t("ui.close")}<//>`}><${Failed} error=${domains.
error} retry=${domains.reload} /><//>`;let none=domains.data&&!good.length;return an`<${DialogBody} title=${t("send.title")} onSubmit=${send} acts=${an`<${Button} kind="quiet" onClick=${()=>close()}>${t(
"ui.cancel")}<//><${Button} type="submit" kind="primary" disabled=${none}>${t("send.act")}<//>`}>
		${none&&an`<${Notice} kind="warn" act=${an`<a class="link t13r" href=${base+"/domains"} onClick=${()=>close()}>${t("send.toDomains")}</a>`}>${t("send.noDomain")}<//>`}
		${refused&&an`<${Notice} kind="bad">${refused}<//>`}
		<${Input} label=${t("send.from")} hint=${t("send.fromHint")} value=${from} onInput=${set("from")} autocomplete="off" />
		<${Input} label=${t("send.to")} value=${form2.to} onInput=${set("to")} autocomplete="off" />
		<${Input} label=${t("send.subject")} value=${form2.subject} onInput=${set("subject")} />
		<${Input} label=${t("send.text")} lines=${5} value=${form2.text} onInput=${set("text")} /><//>`}function Table({list,columns:columns2,empty,open:open2,label,selected,onSelect,fresh,key:keyOf=row=>row.id,top=!1,searched}){let body=le(null),[cursor,setCursor]=Ut(
-1),{rows}=list;Me(()=>{let keys2=e=>{if(e.target.closest?.('input, textarea, select, [role="dialog"], dialog, [contenteditable]')||e.metaKey||e.ctrlKey||e.altKey)
return;let step={j:1,k:-1}[e.key];if(step){let to=Math.max(0,Math.min(rows.length-1,cursor+step));setCursor(to),body.current?.children[to]?.scrollIntoView({block:"\
nearest"})}else cursor>=0&&e.key==="Enter"&&open2&&e.target===document.body?go(open2(rows[cursor])?.replace(base,"")??""):cursor>=0&&e.key==="x"&&onSelect&&toggle(
keyOf(rows[cursor]))};return addEventListener("keydown",keys2),()=>removeEventListener("keydown",keys2)});let toggle=id=>{let now=new Set(selected);now.delete(id)||
now.add(id),onSelect?.(now)};if(list.error&&!rows.length)return an`<${Failed} error=${list.error} retry=${list.reload} />`;if(list.loading)return an`<${Bones} />`;
if(!rows.length&&!list.page?.has_more)return empty;let all=rows.length>0&&rows.every(row=>selected?.has(keyOf(row)));return an`${list.fresh>0&&an`<button type="button" class="newbar" onClick=${()=>{
window.scrollTo(0,0),list.reload()}}>${fresh?fresh(list.fresh):t("ui.fresh")}</button>`}
	<table class=${`table table--rows table--fixed ${top?"table--top":""}`} aria-label=${label}><thead><tr>
		${selected&&an`<th class="cell-check" scope="col"><${SelectAll} all=${all} some=${selected.size>0} onChange=${on=>onSelect?.(new Set(on?rows.map(keyOf):[]))} /></th>`}
		${columns2.map(c=>an`<th scope="col" class=${(c.class??"").replace("cell-cut","")}>${c.hide?an`<span class="vh">${c.name}</span>`:c.name}</th>`)}</tr></thead>
	<tbody ref=${body}>${rows.map((row,i)=>an`<tr key=${keyOf(row)} class=${`${i===cursor?"is-cursor":""} ${open2?"is-link":""}`} aria-selected=${selected?.has(keyOf(
row))?"true":void 0} onClick=${open2&&(e=>{let to=open2(row);to&&!e.target.closest("a, button, input, label")&&!String(getSelection())&&go(to.replace(base,""))})}>
		${selected&&an`<td class="cell-check"><label class="check"><input type="checkbox" aria-label=${t("ui.selectRow")} checked=${selected.has(keyOf(row))} onChange=${()=>toggle(
keyOf(row))} /></label></td>`}
		${columns2.map(c=>an`<td class=${c.class??""}>${c.cell(row)}</td>`)}</tr>`)}</tbody></table>
	<${Foot} list=${list} searched=${searched} />`}function SelectAll({all,some,onChange}){let box=le(null);return Me(()=>{box.current.indeterminate=some&&!all}),an`<label class="check"><input type="checkbox" ref=${box} aria-label=${t(
"ui.selectAll")} checked=${all} onChange=${e=>onChange(e.currentTarget.checked)} /></label>`}function Foot({list,searched}){return list.error?an`<div class="table-foot" role="alert"><${Icon} name="alert" /> ${list.
error.message} <${Button} onClick=${list.more}>${t("ui.again")}<//></div>`:list.page?.has_more?an`<div class="table-foot">${searched}<${Button} onClick=${list.more}>${t(
"ui.more")}<//></div>`:searched?an`<div class="table-foot">${searched}</div>`:null}function Bulk({n,clear,children}){return useEscape(clear),an`<div class="bulk" role="region" aria-label=${t(
"ui.selection")}><span>${t("ui.selected",{n})}</span>${children}<${Button} kind="quiet" onClick=${clear}>${t("ui.clear")} <span class="kbd">Esc</span><//></div>`}
function Csv({path,query,name,team:team2}){let get=()=>attempt(async()=>{let answer=await request("GET",path,{query,team:team2,headers:{Accept:"text/csv"}}),a=document.
createElement("a");a.href=URL.createObjectURL(await answer.blob()),a.download=`${name}.csv`,a.click(),setTimeout(()=>URL.revokeObjectURL(a.href),6e4)});return an`<${Button} icon="download" label=${t(
"ui.csv")} onClick=${get} />`}function filtersOf(query){let filters={};for(let[name,value]of query){let key={key_id:"key",broadcast_id:"broadcast",created_after:"after",created_before:"befor\
e"}[name]??name;name==="q"?Object.assign(filters,read3(value)):keys.includes(key)&&value&&(filters[key]=value)}return filters}var Live=()=>hearing.value==="off"?
null:an`<span class=${`live ${hearing.value==="live"?"":"is-off"}`}>${t(`ui.${hearing.value}`)}</span>`;function useKnown(needed,named2){let names=useGet(needed?
"/api-keys":null,{limit:100}),broadcasts=useGet(needed?"/broadcasts":null,{limit:100}),domains=useGet(named2?"/domains":null,{limit:100}),rows=got=>got.data?.data??
(got.error?[]:void 0);return{keys:rows(names),broadcasts:rows(broadcasts),domains:rows(domains)}}function To({to}){let first=mailbox(to[0]??"");return an`<bdi>${first.
name||first.address}</bdi>${first.name&&an` <span class="muted">${first.address}</span>`}${to.length>1&&an` <span class="muted">${t("emails.others",{n:to.length-
1})}</span>`}`}function Age({of:row}){if(row.state!=="scheduled"||!row.scheduled_at)return an`<${Time} at=${row.created_at} />`;let s=(new Date(row.scheduled_at).
getTime()-Date.now())/1e3,unit=s>=86400?86400:s>=3600?3600:60;return an`<time datetime=${row.scheduled_at} title=${exact(row.scheduled_at)}>${t("time.in",{span:duration(
Math.max(unit,Math.floor(s/unit)*unit))})}</time>`}async function cancel(ids,done){let n=ids.length;await confirm({title:t("emails.cancelTitle",{n}),text:t("ema\
ils.cancelText"),act:t("emails.cancel",{n}),keep:t("ui.keep"),n})&&await attempt(async()=>{let result=await api.post("/queue/drop",{ids});return done(),result},
result=>result.changed===n?t("emails.canceled",{n}):t("emails.canceledSome",{n:result.changed,all:n}))}var retry2=(ids,done)=>attempt(async()=>{let result=await api.
post("/queue/retry",{ids});return done(),result},result=>t("emails.retried",{n:result.changed})),waiting=["queued","deferred"],backTo=at2=>say("emails.searchedT\
o",{time:an`<time datetime=${at2.toISOString()} title=${exact(at2)}>${clock(at2)}</time>`});function Nothing({list,filters,wrong}){let given=Object.entries(filters),
bad=Object.keys(wrong)[0];if(bad)return an`<${Empty} icon="search" title=${t("emails.unread")} act=${an`<${Button} onClick=${()=>go(drop2(filters,bad))}>${t("em\
ails.without",{token:written(bad,filters[bad])})}<//>`}>${wrong[bad]}<//>`;if(!given.length)return an`<${Empty} ghost=${[[an`<${Status} of="delivered" />`,"ann@\
example.com","Welcome, Ann",t("time.min",{n:2})],[an`<${Status} of="opened" />`,"ben@example.com","Invoice 2041",t("time.min",{n:9})],[an`<${Status} of="bounced" />`,
"zoe@example.com","Password reset",t("time.h",{n:1})]]} icon="mail" title=${t("emails.none")} act=${an`<${Button} onClick=${sendDialog} icon="send">${t("emails.\
sendFirst")}<//><${Button} href=${base+"/"}>${t("emails.steps")}<//>`}>${t("emails.noneText")}<//>`;let on=list.page?.has_more&&list.page.searched_to,at2=on&&timeOfId(
list.page.searched_to);return an`<${Empty} icon="mail" title=${t("emails.nothing")} act=${an`${on&&an`<${Button} kind="primary" onClick=${list.more}>${t("emails\
.further")}<//>`}${given.slice(-2).map(([key,value])=>an`<${Button} onClick=${()=>go(drop2(filters,key))}>${t("emails.without",{token:written(key,value)})}<//>`)}`}>${at2?
an`${backTo(at2)}. ${t("emails.notYet")}`:t("emails.nothingText")}<//>`}function Tags({of,filters}){return an`<span title=${of.map(tag=>`${tag.name}=${tag.value}`).
join(", ")}>${of.map(tag=>an`<a class="tag" href=${`${base}${addressOf({...filters,tag:`${tag.name}:${tag.value}`})}`}>${tag.name}=${tag.value}</a> `)}</span>`}
var unfortunate=["bounced","failed","complained","deferred","delivery_delayed"];function Why({of:row}){let[code,reply]=replyOf(row.reason?.detail??{});if(!unfortunate.
includes(row.state)||!(code||reply))return null;let one=row.to.length+row.cc.length+row.bcc.length>1&&row.reason.recipient;return an`<span class="cell-why" title=${one?
`${one}: ${reply}`:reply}>${one&&an`<bdi>${one}</bdi>: `}${code&&an`<span class="mono">${code}</span> `}${reply}</span>`}function Emails(){let filters=filtersOf(
place.value.query),[wanted,want]=Ut(!1),[calm,setCalm]=Ut(!1);Me(()=>{let timer=setTimeout(()=>setCalm(!0),500);return()=>clearTimeout(timer)},[]);let known=useKnown(
wanted||["key","broadcast"].some(k=>filters[k]),wanted||calm),{query,wrong,waits}=ask(filters,known),refused=Object.keys(wrong).length>0,list=useList(refused||waits||
filters.id?null:"/emails",{...query,include:"reason"},{live:e=>e.name==="email",counts:e=>e.data?.event==="queued"||e.data?.event==="scheduled"}),[selected,select]=Ut(
new Set),text2=JSON.stringify(filters);Me(()=>select(new Set),[text2]),Me(()=>{filters.id&&!wrong.id&&go(encoded`/emails/${filters.id}`,{replace:!0})},[filters.
id]);let of=states2=>list.rows.filter(row=>selected.has(row.id)&&states2.includes(row.state)).map(row=>row.id),tried=of(waiting),canceled=of([...waiting,"held",
"scheduled"]),done=()=>{select(new Set),list.reload()},at2=list.page?.has_more&&list.page.searched_to&&Object.keys(query).length?timeOfId(list.page.searched_to):
null,columns2=[{name:t("emails.status"),class:"w-status hide-s",cell:row=>an`<${Status} of=${row.state} />`},{name:t("emails.to"),class:"w-to cell-cut hide-s",cell:row=>an`<span title=${row.
to.join(", ")}><${To} to=${row.to} /></span>`},{name:an`<span class="only-l">${t("emails.subject")}</span><span class="only-s">${t("emails.subjectAll")}</span>`,
class:"cell-name cell-cut",cell:row=>an`<a href=${base+encoded`/emails/${row.id}`} title=${row.subject}><bdi>${row.subject||t("emails.noSubject")}</bdi></a><${Why} of=${row} /><span class="cell-sub"><${Status} of=${row.
state} /><${To} to=${row.to} /></span>`},...list.rows.some(row=>row.tags?.length)?[{name:t("emails.tags"),class:"w-to cell-cut drop-1",cell:row=>an`<${Tags} of=${row.
tags} filters=${filters} />`}]:[],{name:t("emails.age"),class:"w-age num muted",cell:row=>an`<${Age} of=${row} />`}],blank=an`<${Nothing} list=${list} filters=${filters} wrong=${wrong} />`,
body=refused||!list.rows.length&&!list.loading&&!list.error&&!waits&&list.page?blank:an`<${Table} list=${list} label=${t("emails.label")} open=${row=>base+encoded`/emails/${row.
id}`} empty=${blank} columns=${columns2} selected=${selected} onSelect=${select} fresh=${n=>t("emails.fresh",{n})}
		searched=${at2&&an`<span>${backTo(at2)}</span>`} />`;return an`<${Head} title=${t("emails.title")}><${Live} /><${Csv} path="/emails" query=${query} name="emails" /><${Button} icon="plus" kind="primary" onClick=${sendDialog}>${t(
"emails.send")}<//><//>
	${me2.value.capturing&&an`<div class="tools"><${Notice}>${t("overview.capturing")}<//></div>`}
	<div class="tools tools--wrap"><${QueryBox} filters=${filters} wrong=${wrong} known=${known} onNeed=${()=>want(!0)} onChange=${next=>go(addressOf(next))} /><${Picks} filters=${filters} domains=${known.
domains} onChange=${next=>go(addressOf(next))} /></div>
	<${Views} filters=${filters} wrong=${refused} />
	${body}
	${selected.size>0&&an`<${Bulk} n=${selected.size} clear=${()=>select(new Set)}>${tried.length>0&&an`<${Button} icon="refresh" onClick=${()=>retry2(tried,done)}>${t(
"emails.retry")}<//>`}${canceled.length>0&&an`<${Button} kind="danger" onClick=${()=>cancel(canceled,done)}>${t("emails.cancel",{n:canceled.length})}<//>`}<//>`}`}function Gate({title,wide:wide2=!1,onSubmit,children}){Me(()=>{document.title=`${title} · Mailer`},[title]);let others=Object.entries(languages).filter(([id])=>id!==
language.value);return an`<main class="gate"><form class=${`gate-box ${wide2?"gate-box--wide":""}`} onSubmit=${e=>{e.preventDefault(),onSubmit?.(e)}}><span class="row"><span class="mark" aria-hidden="true">M</span><span class="medium">Mailer</span></span>${children}</form>
	<footer class="gate-foot"><span class="mono">${location.host}</span>${others.map(([id,name])=>an`<button type="button" class="gate-lang" lang=${id} onClick=${()=>{
keepLanguage(id),speak(id)}}>${name}</button>`)}</footer></main>`}function useForm(act){let[state,set]=Ut({busy:!1,slow:!1,error:null});return{...state,submit:async()=>{
if(state.busy)return;set({busy:!0,slow:!1,error:null});let timer=setTimeout(()=>set({busy:!0,slow:!0,error:null}),2500),error=null;try{await act()}catch(e){if(!(e instanceof
ApiError))throw e;error=e}finally{clearTimeout(timer)}set({busy:!1,slow:!1,error})},clear:()=>set({busy:!1,slow:!1,error:null})}}var about=(error,name)=>error?.
name==="validation_error"&&error.message.startsWith(`\`${name}\``)?sentence(error.message.slice(name.length+2).trim()):void 0,sentence=text2=>text2.slice(0,1).toUpperCase()+
text2.slice(1);function Said({form:form2,fields=[],words:words3={}}){return form2.slow?an`<${Notice} icon="lock">${t("signIn.slow")}<//>`:!form2.error||fields.some(
name=>about(form2.error,name))?null:an`<${Notice} kind="bad">${words3[form2.error.name]??form2.error.message}<//>`}function own(to){if(!to?.startsWith("/"))return"\
/";let url=new URL(base+to,location.origin);return url.origin!==location.origin||!url.pathname.startsWith(base+"/")?"/":url.pathname.slice(base.length)+url.search+
url.hash}async function arrive(){forget(),signedIn(await api.get("/users/me",void 0,{team:null}))}async function enter(to=null){await arrive(),go(own(to),{replace:!0})}var nameOf2=key=>key.split(".").map((part,i)=>/^[A-Za-z_]\w*$/.test(part)?i?`.${part}`:part:`["${part}"]`).join(""),isName=text2=>/^[A-Za-z_]\w*(\.\w+)*$/.test(
text2),canQuote=text2=>!/[\r\n]|%\}|\}\}|\{%|\{\{/.test(text2)&&!(text2.includes('"')&&text2.includes("'")),quoted=text2=>text2.includes('"')?`'${text2}'`:`"${text2}\
"`,comparisons={string:["equals","not_equals","contains","is_set","is_not_set"],number:["equals","not_equals","greater_than","less_than","is_set","is_not_set"],
boolean:["is_true","is_false"],list:["is_set","is_not_set","contains"],object:["is_set","is_not_set"],html:["is_set","is_not_set"]},alone=["is_set","is_not_set",
"is_true","is_false"],isWhole=({key,type,op,value})=>isName(key)&&(alone.includes(op)||(type==="number"?value.trim()!==""&&Number.isFinite(Number(value)):canQuote(
value)));function conditionTags(of){if(!isWhole(of))return["",""];let{type,op,value}=of,name=nameOf2(of.key),than=type==="number"?String(Number(value)):quoted(value),
set=`${name} and ${name} != ${type==="list"?"empty":'""'}`,sign={equals:"==",not_equals:"!=",contains:"contains",greater_than:">",less_than:"<"}[op];return op===
"is_not_set"||op==="is_false"?[`{% unless ${op==="is_false"?name:set} %}`,"{% endunless %}"]:[`{% if ${sign?`${name} ${sign} ${than}`:op==="is_true"?name:set} %\
}`,"{% endif %}"]}var loopTags=({list,item})=>isName(list)?[`{% for ${item} in ${nameOf2(list)} %}`,"{% endfor %}"]:["",""];function spelled({key,fallback=null,
type="string",expression=null}){return expression?`{{ ${expression} }}`:type==="html"?`{{ ${nameOf2(key)} | raw }}`:/^(contact\.)?\w+$/.test(key)&&type!=="boole\
an"?`{{{${key}${fallback===null?"":`|${fallback}`}}}}`:`{{ ${nameOf2(key)}${fallback===null?"":` | default: ${quoted(fallback)}`} }}`}var blockTag=name=>`{% blo\
ck "${name}" %}`,token=/(?<!\{)\{\{(?!\{)[^]*?\}\}|\{%[^]*?%\}/g,readAsLiquid=text2=>[...text2.matchAll(token)].map(([found])=>found),kept3=text2=>text2.replace(
token,found=>`{% raw %}${found}{% endraw %}`),contactIn=text2=>readAsLiquid(text2).map(tag=>/^\{\{-?\s*(contact\.\w+)\s*(?:\|[^]*?\bdefault:\s*(?:"([^"]*)"|'([^']*)'))?/.
exec(tag)).filter(Boolean).map(([,key,double,single])=>({key,fallback:double??single??null})),words2=/^(and|or|contains|in|true|false|nil|null|blank|empty|forloop|contact|reversed|limit|offset)$/;
function undeclaredIn(texts,declared){let bound=new Set,found=new Map;for(let inside of texts.flatMap(readAsLiquid).map(tag=>tag.replace(/^\{[{%]-?\s*|\s*-?[%}]\}$/g,
"").replace(/"[^"]*"|'[^']*'/g,""))){let[,made]=/^(?:for|assign|capture)\s+([A-Za-z_]\w*)/.exec(inside)??[];made&&bound.add(made);let list=/^for\s+\w+\s+in\s+([A-Za-z_]\w*)(?!\w*\.)/.
exec(inside)?.[1],read4=inside.replace(/^(?:for\s+\w+\s+in|assign\s+\w+\s*=|capture\s+\w+|(?:end)?\w+(?=\s|$)(?!\s*\|))/,tag=>/^(for|assign|capture|if|elsif|unless|case|when|end\w+|else|block|raw|comment|cycle|break|continue)\b/.
test(tag)?"":tag).replace(/\|[^|]*/g,filter=>filter.replace(/^\|\s*\w+/,"|"));for(let[,key,member]of read4.matchAll(/(?<![\w.])([A-Za-z_]\w*)(\.\w+)?/g))words2.
test(key)||bound.has(key)||declared.has(key)||(!found.get(key)||found.get(key)==="string")&&found.set(key,key===list?"list":member?"object":"string")}return[...found].
map(([key,type])=>({key,type}))}function OwnInvitations(){let list=useGet("/users/me/invitations",{},{team:null}),rows=list.data?.data??[];if(!rows.length)return null;let path=i=>encoded`/users/me/invitations/${i.
id}`,join=i=>attempt(async()=>{await api.post(encoded`/users/me/invitations/${i.id}/accept`,void 0,{team:null}),await arrive(),await list.reload()},t("invitatio\
n.joined",{team:i.team})),decline=i=>attempt(async()=>{await api.del(path(i),void 0,{team:null}),await list.reload()},t("invitation.declined",{team:i.team}));return an`<${Section} title=${t(
"team.invitations")}><ul class="items">${rows.map(i=>an`<li key=${i.id} class="row"><span>${t("invitation.asks",{team:i.team,role:t(`roles.${i.role}`)})}</span><${Button} kind="primary" onClick=${()=>join(
i)}>${t("invitation.act")}<//><${Button} kind="quiet" onClick=${()=>decline(i)}>${t("invitation.decline")}<//></li>`)}</ul><//>`}var credentials=globalThis.PublicKeyCredential,can=()=>!!credentials?.parseRequestOptionsFromJSON&&!/^[\d.]+$|:/.test(location.hostname);function refusal(e){if(e instanceof
ApiError)return e;let name={NotAllowedError:"stopped",AbortError:"stopped",InvalidStateError:"there",SecurityError:"host"}[e?.name];return name?new ApiError(0,{
name:`passkey_${name}`,message:t(`passkey.${name}`,{host:location.hostname})},""):new ApiError(0,{name:"passkey",message:t("passkey.failed",{why:String(e?.message??
e)})},"")}async function use(){try{let{publicKey}=await api.post("/auth/passkey/options",void 0,{team:null}),made=await navigator.credentials.get({publicKey:credentials.
parseRequestOptionsFromJSON(publicKey)});return await api.post("/auth/passkey",made.toJSON(),{team:null})}catch(e){throw refusal(e)}}async function make(name){try{
let{publicKey}=await api.post("/users/me/passkeys/options",void 0,{team:null}),made=await navigator.credentials.create({publicKey:credentials.parseCreationOptionsFromJSON(
publicKey)});return await api.post("/users/me/passkeys",made.toJSON(),{team:null,query:{name}})}catch(e){throw refusal(e)}}var providers2={ses:{name:"Amazon SES",hosts:[["email-smtp.us-east-1.amazonaws.com","us-east-1"],["email-smtp.us-east-2.amazonaws.com","us-east-2"],["email-smtp\
.us-west-1.amazonaws.com","us-west-1"],["email-smtp.us-west-2.amazonaws.com","us-west-2"],["email-smtp.af-south-1.amazonaws.com","af-south-1"],["email-smtp.ap-n\
ortheast-1.amazonaws.com","ap-northeast-1"],["email-smtp.ap-northeast-2.amazonaws.com","ap-northeast-2"],["email-smtp.ap-northeast-3.amazonaws.com","ap-northeas\
t-3"],["email-smtp.ap-south-1.amazonaws.com","ap-south-1"],["email-smtp.ap-southeast-1.amazonaws.com","ap-southeast-1"],["email-smtp.ap-southeast-2.amazonaws.co\
m","ap-southeast-2"],["email-smtp.ca-central-1.amazonaws.com","ca-central-1"],["email-smtp.eu-central-1.amazonaws.com","eu-central-1"],["email-smtp.eu-north-1.a\
mazonaws.com","eu-north-1"],["email-smtp.eu-south-1.amazonaws.com","eu-south-1"],["email-smtp.eu-west-1.amazonaws.com","eu-west-1"],["email-smtp.eu-west-2.amazo\
naws.com","eu-west-2"],["email-smtp.eu-west-3.amazonaws.com","eu-west-3"],["email-smtp.il-central-1.amazonaws.com","il-central-1"],["email-smtp.me-south-1.amazo\
naws.com","me-south-1"],["email-smtp.sa-east-1.amazonaws.com","sa-east-1"]]},postmark:{name:"Postmark",hosts:[["smtp.postmarkapp.com",""]]},mailgun:{name:"Mailg\
un",hosts:[["smtp.mailgun.org","US"],["smtp.eu.mailgun.org","EU"]]},sendgrid:{name:"SendGrid",hosts:[["smtp.sendgrid.net","Global"],["smtp.eu.sendgrid.net","EU"]],
user:"apikey"},mailjet:{name:"Mailjet",hosts:[["in-v3.mailjet.com",""]]},brevo:{name:"Brevo",hosts:[["smtp-relay.brevo.com",""]]},sparkpost:{name:"SparkPost",hosts:[
["smtp.sparkpostmail.com","US"],["smtp.eu.sparkpostmail.com","EU"]],user:"SMTP_Injection"},azure:{name:"Azure Communication Services",hosts:[["smtp.azurecomm.ne\
t",""]]},postal:{name:"Postal",hosts:[]},lettermint:{name:"Lettermint",hosts:[["smtp.lettermint.co",""]],user:"lettermint"},smtp2go:{name:"SMTP2GO",hosts:[["mai\
l.smtp2go.com","Global"],["mail-eu.smtp2go.com","EU"],["mail-us.smtp2go.com","US"],["mail-au.smtp2go.com","AU"]]},elasticemail:{name:"Elastic Email",hosts:[["sm\
tp.elasticemail.com",""]]}};var looks2={due:"queued",scheduled:"scheduled",retry:"deferred",held:"held",relay:"failing",quota:"resting",paced:"scheduled"};function reasonOf(reason){if(find(
`queue.reasons.${reason}`))return{state:{damaged:"held",manual:"held",restored:"held",held:"held"}[reason]??reason,word:t(`queue.reasons.${reason}`),detail:""};
let m=/^Relay (\S+) \([^)]*\) (while|at) ([^:]*): (.*?)(?:; next try at (\S+))?$/s.exec(reason);if(!m)return{state:"due",word:reason,detail:""};let signIn=/signing in/.
test(m[3]),atRecipient=m[2]==="at";return{state:atRecipient?"retry":"relay",word:t(atRecipient?"queue.reasons.retry":signIn?"queue.reasons.signIn":"queue.reason\
s.relay"),detail:m[4]}}var lookOf2=state=>looks2[state]??"queued";function grouped(by){let groups=new Map;for(let row of by){let said=reasonOf(row.reason),key=`${said.
state} ${said.word} ${row.relay}`,group=groups.get(key)??{...said,key,reason:row.reason,relay:row.relay,teams:new Set,count:0};group.count+=row.count,row.team&&
group.teams.add(row.team),groups.set(key,group)}return[...groups.values()].sort((a,b2)=>b2.count-a.count)}var emptyRelay={provider:"",host:"",port:"587",user:"",password:"",security:"starttls",rate:"",daily:""};function relayURL(v2){let host=v2.host.trim(),who=v2.user?
`${encodeURIComponent(v2.user.trim())}:${encodeURIComponent(v2.password)}@`:"",options=[v2.security==="off"&&"tls=off",v2.rate.trim()&&`rate=${encodeURIComponent(
v2.rate.trim())}`,v2.daily.trim()&&`daily=${encodeURIComponent(v2.daily.trim())}`].filter(Boolean).join("&");return`${v2.security==="tls"?"smtps":"smtp"}://${who}${host.
includes(":")&&!host.startsWith("[")?`[${host}]`:host}:${v2.port.trim()}${options&&`?${options}`}`}function RelayFields({values:values2,set,error,reports}){let of=providers2[values2.
provider],choose2=id=>{let to=providers2[id];set({provider:id,host:to?.hosts[0]?.[0]??"",port:"587",security:"starttls",user:to?.user??""})},secure=security=>set(
{security,port:{tls:"465",starttls:"587",off:"25"}[security]??values2.port});return an`<${Select} label=${t("setup.relay.provider")} value=${values2.provider} onChange=${choose2} options=${[
["",t("setup.relay.own")],...Object.entries(providers2).map(([id,p])=>[id,p.name])]} hint=${of&&reports&&an`<a href=${`${base}/operator/reports#${values2.provider}`}>${t(
"reports.title")}</a>`} />
	${of?.hosts.length>1?an`<${Select} label=${t("setup.relay.area")} value=${values2.host} onChange=${host=>set({host})} options=${of.hosts} />`:an`<${Input} label=${t(
"setup.relay.host")} mono required autocapitalize="none" spellcheck=${!1} autocomplete="off" placeholder="smtp.example.com" value=${values2.host} onInput=${host=>set(
{host})} />`}
	<div class="row row--top"><${Select} label=${t("setup.relay.security")} value=${values2.security} onChange=${secure} options=${["starttls","tls","off"].map(id=>[
id,t(`setup.relay.${id}`)])} /><${Input} label=${t("setup.relay.port")} class="setup-port" mono inputmode="numeric" required value=${values2.port} onInput=${port=>set(
{port})} error=${about(error,"port")} /></div>
	<${Input} label=${t("setup.relay.user")} mono autocomplete="off" autocapitalize="none" spellcheck=${!1} value=${values2.user} onInput=${user=>set({user})} hint=${t(
values2.provider?`setup.relay.userOf.${values2.provider}`:"setup.relay.userHint")} />
	<${Input} label=${t("signIn.password")} type="password" autocomplete="new-password" value=${values2.password} onInput=${password=>set({password})} hint=${t("se\
tup.relay.passwordHint")} />
	<details class="fold"><summary><${Icon} name="right" />${t("setup.relay.limits")}</summary><div class="stack stack--2"><${Input} label=${t("setup.relay.rate")} inputmode="decimal" value=${values2.
rate} onInput=${rate=>set({rate})} hint=${t("setup.relay.rateHint")} /><${Input} label=${t("setup.relay.daily")} inputmode="numeric" value=${values2.daily} onInput=${daily=>set(
{daily})} hint=${t("setup.relay.dailyHint")} /></div></details>`}var order=["dns","connect","tls","greeting","auth","mail","send"];function Steps({test}){let[n,setN]=Ut(0),all=test.steps??[];if(Me(()=>{if(test.running)setN(0);else if(n<
all.length){let timer=setTimeout(()=>setN(n+1),120);return()=>clearTimeout(timer)}},[n,test]),test.running)return an`<p class="row muted" role="status"><span class="spin"></span>${t(
"relays.testing")}</p>`;let done=all.slice(0,n),left2=all.some(s=>!s.ok)&&n===all.length?order.slice(order.indexOf(all[all.length-1].step)+1).filter(step=>step!==
"send"&&!all.some(s=>s.step===step)):[];return an`<table class="table table--top" aria-live="polite"><thead class="vh"><tr><th>${t("relays.result")}</th><th>${t(
"relays.step")}</th><th>${t("relays.words")}</th><th>${t("relays.took")}</th></tr></thead><tbody>
	${done.map(s=>an`<tr key=${s.step}><td><${Status} of=${s.ok?"good":"failed"} /></td><td class="medium nowrap">${t(`relays.steps.${s.step}`)}</td><td class="break"><span class=${s.
ok?"":"mono bad"}>${s.said}</span></td><td class="num muted nowrap">${t("email.ms",{ms:s.ms})}</td></tr>`)}
	${left2.map(step=>an`<tr key=${step}><td><${Status} of="neutral" word=${t("relays.notRun")} /></td><td class="medium nowrap">${t(`relays.steps.${step}`)}</td><td></td><td class="num muted">–</td></tr>`)}</tbody></table>`}
var addDialog=(region="")=>dialog(close=>an`<${Add} to=${region} close=${close} />`);function Add({to,close}){let[form2,setForm]=Ut({...emptyRelay,region:to,name:""}),
[wrong,setWrong]=Ut(""),[test,setTest]=Ut(null),[region,setRegion]=Ut(""),set=some=>setForm(before=>({...before,...some})),add=async()=>{setWrong("");try{let added=await api.
post("/relays",{region:form2.region.trim()||void 0,...to&&{name:form2.name.trim(),reserve:!0},url:relayURL(form2)},{team:null});setRegion(added.region),setTest(
{running:!0}),setTest(await api.post(encoded`/relays/${to||added.region}/test`,void 0,{team:null,query:to?{name:added.region}:{}}))}catch(e){if(!(e instanceof ApiError))
throw e;setTest(null),setWrong(e.message)}};return test?an`<${DialogBody} title=${region} onSubmit=${()=>close(region)} acts=${test.running?"":an`${!test.ok&&an`<${Button} kind="quiet" onClick=${()=>setTest(
null)}>${t("relays.mend")}<//>`}<${Button} type="submit" kind="primary">${t("relays.done")}<//>`}><${Steps} test=${test} />${!test.running&&an`<${Notice} kind=${test.
ok?"good":"warn"}>${t(test.ok?"relays.works":"relays.worksNot")}<//>`}<//>`:an`<${DialogBody} title=${to?t("relays.regions.addTo",{region:to}):t("relays.add")} onSubmit=${add} acts=${an`<${Button} kind="quiet" onClick=${()=>close()}>${t(
"ui.cancel")}<//><${Button} type="submit" kind="primary" disabled=${!form2.host.trim()||to&&!form2.name.trim()}>${t("relays.addAct")}<//>`}>
		${wrong&&an`<${Notice} kind="bad">${wrong}<//>`}
		<${RelayFields} values=${form2} set=${set} reports />
		${to?an`<${Input} label=${t("relays.name")} mono required value=${form2.name} onInput=${name=>set({name})} placeholder="postmark" hint=${t("relays.regions.nam\
eHint")} autocomplete="off" />`:an`<${Input} label=${t("relays.name")} mono value=${form2.region} onInput=${region2=>set({region:region2})} placeholder="eu-west-1" hint=${t(
"relays.nameHint")} autocomplete="off" />`}<//>`}var nameOf3=r=>r.name??r.region,only=r=>r.sent_hour===void 0&&!r.name?{}:{name:nameOf3(r)};function doing(r){let parts=[];return r.reason&&parts.push(r.reason),
r.since&&r.state!=="open"&&parts.push(t("relays.since",{at:clock(r.since)})),r.next_try&&r.state==="failing"&&parts.push(t("relays.nextProbe",{span:relative(r.next_try)})),
r.state==="open"&&parts.push(r.rate?t("relays.rate",{n:r.rate}):t("relays.noRate")),r.daily&&parts.push(t("relays.today",{used:r.daily_used,of:r.daily})),parts.
join(" · ")}var Light=({of:r})=>an`<li><span class="grow"><${Status} of=${r.state} /> <a class="mono" href=${base+encoded`/operator/relays?relay=${nameOf3(r)}`}>${nameOf3(
r)}</a><br /><span class="t12 muted break">${doing(r)}</span></span><span class="num t12 muted">${r.waiting?t("relays.wait",{n:number(r.waiting)}):t("relays.non\
eWaits")}</span></li>`;function Relays(){return relays.value?relays.value.length?an`<ul class="items">${relays.value.map(r=>an`<${Light} key=${nameOf3(r)} of=${r} />`)}</ul>`:
an`<p class="muted">${t("relays.none")}</p>`:an`<${Bones} rows=${2} />`}function Digits({value,onInput,onDone,error,hint}){let box=le(null);return Me(()=>{value.length===6&&onDone()},[value]),Me(()=>box.current.focus(),[]),an`<${Field} label=${t(
"factor.digits")} hint=${hint} error=${error}>${attributes=>an`<div class="otp"><input class="input" inputmode="numeric" autocomplete="one-time-code" ref=${box} value=${value} onInput=${e=>{
let digits=e.currentTarget.value.replace(/\D/g,"").slice(0,6);e.currentTarget.value=digits,onInput(digits)}} ...${attributes} /></div>`}<//>`}function AskFactor({
factors,done,back}){let byCode=factors.includes("totp"),[recovery,setRecovery]=Ut(!byCode&&!factors.includes("passkey")),[code,setCode]=Ut(""),send=useForm(async()=>{
try{await api.post("/auth/totp",recovery?{recovery_code:code.trim()}:{code},{team:null})}catch(e){throw recovery||setCode(""),e}await done()}),byPasskey=useForm(
async()=>{await use(),await done()}),turn=on=>{setRecovery(on),setCode(""),send.clear()},box=le(null);return Me(()=>box.current?.querySelector("input")?.focus(),
[recovery]),an`<${Gate} title=${t("factor.title")} onSubmit=${()=>(recovery||byCode)&&send.submit()}><div class="stack stack--2"><h1>${t("factor.title")}</h1><p class="ink2">${t(
recovery?"factor.recoveryText":byCode?"factor.codeText":"factor.passkeyText")}</p></div>
	<${Said} form=${send} words=${{invalid_credentials:t(recovery?"factor.wrongRecovery":"factor.wrongCode")}} /><${Said} form=${byPasskey} words=${{invalid_credentials:t(
"factor.wrongPasskey")}} />
	${(recovery||byCode)&&an`<div class="stack" ref=${box}><div class="wide">${recovery?an`<${Input} label=${t("factor.recovery")} value=${code} onInput=${setCode} autocomplete="off" autocapitalize="none" spellcheck=${!1} mono />`:
an`<${Digits} value=${code} onInput=${setCode} onDone=${send.submit} />`}</div>
		<${Button} type="submit" kind="primary wide" class="wide" busy=${send.busy}>${t("factor.go")}<//></div>`}
	${factors.includes("passkey")&&can()&&an`${byCode&&an`<p class="or">${t("signIn.or")}</p>`}<${Button} icon="passkey" kind=${byCode||recovery?"wide":"primary wi\
de"} busy=${byPasskey.busy} onClick=${byPasskey.submit}>${t("signIn.passkey")}<//>`}
	<div class="row row--wrap">${recovery?byCode&&an`<${Button} kind="quiet" onClick=${()=>turn(!1)}>${t("factor.useCode")}<//>`:an`<${Button} kind="quiet" onClick=${()=>turn(
!0)}>${t("factor.useRecovery")}<//>`}<${Button} kind="quiet" onClick=${back}>${t("factor.back")}<//></div><//>`}function squares(svg){return{size:/viewBox="0 0 (\d+)/.
exec(svg)?.[1]??"1",path:svg.slice(svg.lastIndexOf(' d="')+4,svg.lastIndexOf('"/>'))}}function TurnOn({done,skip,skipWord}){let[offer,setOffer]=Ut(null),[code,setCode]=Ut(
""),begin=useForm(async()=>setOffer(await api.post("/users/me/totp",void 0,{team:null}))),confirm2=useForm(async()=>{try{let answer=await api.post("/users/me/to\
tp/confirm",{code},{team:null});done(answer.recovery_codes)}catch(e){throw setCode(""),e}});if(Me(()=>{begin.submit()},[]),!offer)return an`<${Said} form=${begin} />${skip&&
an`<div class="row"><${Button} kind="quiet" onClick=${skip}>${skipWord}<//></div>`}`;let{size:size2,path}=squares(offer.qr);return an`<div class="row row--top row--wrap factor"><svg class="qr" viewBox=${`\
0 0 ${size2} ${size2}`} shape-rendering="crispEdges" role="img" aria-label=${t("factor.qr")}><path d=${path} /></svg>
	<div class="stack factor-side"><div class="stack stack--2"><span class="field-label">${t("factor.secret")}</span><${Copy} text=${offer.secret} show=${offer.secret.
replace(/(.{4})(?=.)/g,"$1 ")} shown /></div>
	<div class="wide"><${Digits} value=${code} onInput=${setCode} onDone=${confirm2.submit} hint=${t("factor.hint")} error=${confirm2.error&&(about(confirm2.error,
"code")?t("factor.notNow"):confirm2.error.message)} /></div>
	<div class="row"><${Button} kind="primary" busy=${confirm2.busy} onClick=${confirm2.submit}>${t("factor.confirm")}<//>${skip&&an`<${Button} kind="quiet" onClick=${skip}>${skipWord}<//>`}</div></div></div>`}
function Codes({codes}){let[copied,setCopied]=Ut(!1),text2=`${codes.join(`
`)}
`,save=()=>{let a=document.createElement("a");a.href=URL.createObjectURL(new Blob([`Mailer, ${location.host}
${text2}`],{type:"text/plain"})),a.download="mailer-recovery-codes.txt",a.click(),setTimeout(()=>URL.revokeObjectURL(a.href),6e4)};return an`<${Notice} icon="key">${t(
"factor.codesText")}<//>
	<div class="row row--top row--wrap factor"><div class="codes">${codes.map(code=>an`<span>${code}</span>`)}</div><div class="stack stack--2"><${Button} icon=${copied?
"check":"copy"} onClick=${async()=>setCopied(await copy(text2))}>${t(copied?"ui.copied":"factor.copyAll")}<//><${Button} icon="download" onClick=${save}>${t("fa\
ctor.save")}<//></div></div>`}var NoWayIn=({email})=>an`<p class="t12 muted">${say("signIn.noWay",{command:an`<code>mailer users link ${email||"EMAIL"}</code>`})}</p>`,
Progress=({steps,at:at2,done})=>an`<ol class="progress" aria-label=${t("setup.steps")}>${steps.map((name,i)=>an`<li aria-current=${i===at2?"step":void 0}>${i<at2&&
(done?.[i]??!0)&&an`<${Icon} name="check" />`}${name}${i<at2&&done&&!done[i]&&an` <span class="muted">(${t("setup.skipped")})</span>`}</li>`)}</ol>`;var text=(words3,...marks)=>({type:"text",text:words3,...marks.length?{marks}:{}}),paragraph=(...content)=>({type:"paragraph",content}),heading=(level,words3)=>({
type:"heading",attrs:{level},content:[text(words3)]}),variable=(key,fallback=null)=>({type:"variable",attrs:{key,fallback}}),button=words3=>({type:"button",attrs:{
href:""},content:[text(words3)]}),line={type:"horizontalRule"},columns=(...cells)=>({type:"twoColumns",content:cells.map(cell=>({type:"columnsColumn",content:[paragraph(
...cell)]}))}),bold={type:"bold"},hello=name=>paragraph(...say("visual.hello",{name:[variable(name.key,name.fallback)]}).flatMap(part=>typeof part=="string"?part&&
text(part):part).filter(Boolean)),end=leave=>[{type:"brandFooter"},...leave?[paragraph(text(t("visual.unsubscribeText"),{type:"link",attrs:{href:"{{{UNSUBSCRIBE\
_URL}}}"}}))]:[]],layouts={announcement:name=>[{type:"brandLogo"},heading(1,t("starters.news.title")),hello(name),paragraph(text(t("starters.news.text"))),button(
t("starters.news.act"))],digest:name=>[{type:"brandLogo"},heading(1,t("starters.issue.title")),hello(name),paragraph(text(t("starters.issue.text"))),...[1,2,3].
flatMap(n=>[heading(2,t("starters.issue.item",{n})),paragraph(text(t("starters.issue.itemText")))]),button(t("starters.news.act"))],receipt:(name,facts)=>[{type:"\
brandLogo"},heading(1,t("starters.order.title")),hello(name),paragraph(text(t("starters.order.text"))),columns([text(t("starters.order.number"))],[facts?variable(
"ORDER_NUMBER"):text("1001")]),columns([text(t("starters.order.total"),bold)],[facts?variable("TOTAL"):text("0.00",bold)]),button(t("starters.order.act"))],blank:name=>[
hello(name),{type:"paragraph"}]},variablesOf=start2=>[{key:"NAME",type:"string",fallback_value:"there"},...start2==="receipt"?["ORDER_NUMBER","TOTAL"].map(key=>({
key,type:"string",fallback_value:"–"})):[]],hasDesign=start2=>start2 in layouts||start2==="mjml",mjmlDesign=source=>JSON.stringify({type:"mjml",source}),mjmlStart=(name,leave)=>`\
<mjml>
  <mj-body>
    <mj-section>
      <mj-column>
        <mj-text font-size="16px">${t("visual.hello",{name})}</mj-text>
        <mj-text font-size="16px"></mj-text>
${leave?`        <mj-text font-size="12px"><a href="{{{UNSUBSCRIBE_URL}}}">${t("visual.unsubscribeText")}</a></mj-text>
`:""}      </mj-column>
    </mj-section>
  </mj-body>
</mjml>
`;function designOf(start2,{broadcast}){if(start2==="mjml")return mjmlDesign(mjmlStart(broadcast?`{{{contact.first_name|${t("visual.there")}}}}`:"{{{NAME}}}",broadcast));
let name=broadcast?{key:"contact.first_name",fallback:t("visual.there")}:{key:"NAME",fallback:null},content=layouts[start2](name,!broadcast);return JSON.stringify(
{type:"doc",content:[{type:"container",content:[...content,...start2==="blank"?[]:[line],...end(broadcast)]}]})}var sketches={announcement:[[8,6,10,4,"mark"],[8,
14,40,5,"ink"],[8,23,48,2],[8,27,42,2],[8,33,18,6,"mark"]],digest:[[8,5,28,4,"ink"],[8,13,18,3,"ink"],[8,18,48,2],[8,24,18,3,"ink"],[8,29,48,2],[8,35,18,3,"ink"],
[8,40,40,2]],receipt:[[8,6,34,4,"ink"],[8,15,48,2],[8,22,16,2],[44,22,12,2],[8,27,16,2],[44,27,12,2],[8,33,48,1,"ink"],[8,37,16,3,"ink"],[44,37,12,3,"ink"]],blank:[
[8,8,20,2]],template:[[14,4,42,34,"page"],[8,9,42,34,"page"],[13,15,24,4,"ink"],[13,23,32,2],[13,27,28,2]],last:[[8,6,26,4,"ink"],[8,14,48,2],[8,18,44,2],[8,22,
46,2],[8,29,48,10,"mark"]],mjml:[[8,6,48,14,"page"],[12,10,20,2,"mark"],[12,14,30,2],[8,24,22,18,"page"],[34,24,22,18,"page"],[12,30,12,2],[38,30,12,2]],html:[[
8,8,14,3,"mark"],[14,15,26,2],[20,20,30,2],[20,25,22,2],[14,30,26,2],[8,37,14,3,"mark"]]},Sketch=({of})=>an`<svg class="sketch" viewBox="0 0 64 48" aria-hidden="true">${sketches[of].
map(([x,y2,width,height,look="line"])=>an`<rect class=${`sketch-${look}`} x=${x} y=${y2} width=${width} height=${height} rx="1" />`)}</svg>`;function Start({value,
options,onChange,hint=t(`starters.hints.${value}`)}){let name=jt();return an`<fieldset class="starts" aria-describedby=${`${name}h`}><legend class="field-label">${t(
"starters.title")}</legend>
		<div class="starts-of">${options.map(one=>an`<label class="start" key=${one}><input class="vh" type="radio" name=${name} value=${one} checked=${one===value} onChange=${()=>onChange(
one)} /><${Sketch} of=${one} /><span>${t(`starters.${one}`)}</span></label>`)}</div>
		<p class="field-hint" id=${`${name}h`}>${hint}</p></fieldset>`}var TemplateSections=({at:at2})=>an`<${Sections} label=${t("templates.title")} at=${`${base}/${at2}`} links=${["templates","blocks","images"].map(page=>[t(`${page}\
.title`),`${base}/${page}`])} />`;function scaleOf(most){if(!(most>0))return{top:4,step:2};let power=10**Math.floor(Math.log10(most)),step=[.25,.5,1,2,2.5,5].map(f=>f*power).find(s=>most/s<=4)??
power*5;return{top:Math.ceil(most/step-1e-9)*step,step}}var few=3;function Bars({label,bars,show,limits=[],height=136,table=!0,least=0}){let[at2,setAt]=Ut(-1),some=bars.
filter(b2=>b2.value>0);if(some.length<few)return an`<p class="t13r">${some.length?some.map(b2=>`${b2.name}: ${show(b2.value)}${b2.note?` (${b2.note})`:""}`).join(
" · "):t("ui.noValues")}</p>`;let ground=height-24,{top,step}=scaleOf(Math.max(least,...bars.map(b2=>b2.value),...limits.map(l=>l.value))),head=limits.some(l=>l.
value>top*.8)?24:12,y2=value=>head+(ground-head)*(1-value/top),lines=[];for(let v2=0;v2<=top+step/1e6;v2+=step)lines.push(v2);let axes=bars.filter(b2=>b2.axis),
slot=100/Math.max(1,bars.length),keys2=e=>{let to={ArrowRight:at2+1,ArrowLeft:at2-1,Home:0,End:bars.length-1}[e.key];to!==void 0&&(e.preventDefault(),setAt(Math.
max(0,Math.min(bars.length-1,to))))},bar=bars[at2];return an`<figure class="chart-figure" aria-label=${label}><div class="chart"><svg height=${height} aria-hidden="true">${lines.
map(v2=>an`<text class="c-y" x="100%" y=${y2(v2)+4}>${show(v2)}</text>`)}</svg>
	<div class="chart-plot"><svg height=${height} role="img" tabindex="0" aria-label=${bar?`${bar.name}: ${show(bar.value)}`:label} onKeyDown=${keys2} onFocus=${()=>at2<
0&&setAt(bars.length-1)} onBlur=${()=>setAt(-1)} onMouseLeave=${()=>setAt(-1)}>
		${lines.map(v2=>an`<line class=${v2?"c-grid":"c-base"} x1="0" x2="100%" y1=${y2(v2)} y2=${y2(v2)} />`)}
		${bars.map((b2,i)=>stacked(b2).map(([from,to,kind])=>an`<rect class=${`c-bar ${kind} ${i===at2?"is-on":""}`} x=${`${slot*(i+.16)}%`} width=${`${slot*.68}%`} y=${y2(
to)} height=${Math.max(0,y2(from)-y2(to))} />`))}
		${bars.map((b2,i)=>b2.word&&an`<text class=${b2.bad?"c-bad c-x":"c-value c-x"} x=${`${slot*(i+.5)}%`} y=${y2(b2.value)-5}>${b2.word}</text>`)}
		${limits.map(l=>an`<line class="c-limit" x1="0" x2="100%" y1=${y2(l.value)} y2=${y2(l.value)} /><text class="c-limit-word c-start" x="0" y=${y2(l.value)-5}>${l.
word}</text>`)}
		${bars.map((b2,i)=>b2.axis&&an`<text class=${`c-x ${axes.indexOf(b2)%2?"c-minor":""}`} x=${`${slot*(i+.5)}%`} y=${height-6}>${b2.axis}</text>`)}
		${bars.map((_,i)=>an`<rect class="c-hit" x=${`${slot*i}%`} width=${`${slot}%`} y="0" height=${ground} onMouseEnter=${()=>setAt(i)} />`)}
	</svg>${bar&&an`<${Tip} share=${(at2+.5)/bars.length}><b>${bar.name}</b><br />${show(bar.value)}${bar.note&&an`<br /><span class="muted">${bar.note}</span>`}<//>`}</div></div>
	${table&&an`<details class="fold"><summary><${Icon} name="right" />${t("ui.asTable")}</summary><table class="table"><thead><tr><th>${t("ui.when")}</th><th class="num">${label}</th></tr></thead><tbody>${bars.
map(b2=>an`<tr><td>${b2.name}</td><td class="num">${show(b2.value)}</td></tr>`)}</tbody></table></details>`}</figure>`}function stacked({value,parts,bad}){if(!parts)
return[[0,value,bad?"is-over":""]];let from=0;return parts.filter(([n])=>n>0).map(([n,kind])=>[from,from+=n,kind?`is-${kind}`:""])}var Legend=({of})=>an`<ul class="legend">${of.
map(([kind,words3])=>an`<li><svg width="10" height="10" aria-hidden="true"><rect class=${`c-bar ${kind&&`is-${kind}`}`} width="10" height="10" rx="2" /></svg>${words3}</li>`)}</ul>`,
Tip=({share,children})=>an`<div class=${`tip tip--at tip--${Math.min(11,Math.floor(share*12))}`} aria-hidden="true">${children}</div>`;function Spark({values:values2,
label}){let most=Math.max(1,...values2),slot=100/values2.length;return an`<svg class="spark" role="img" aria-label=${label}><line class="c-base" x1="0" x2="100%" y1="19.5" y2="19.5" />${values2.
map((v2,i)=>v2>0&&an`<rect class="c-bar" x=${`${slot*(i+.1)}%`} width=${`${slot*.8}%`} y=${19-Math.max(1,18*v2/most)} height=${Math.max(1,18*v2/most)} />`)}</svg>`}
var Meter=({part,label,kind="",thick=!1})=>an`<svg class=${`meter ${thick?"meter--6":""}`} role="img" aria-label=${label}><rect class="meter-ground" width="100%" height="100%" rx="2" /><rect class=${`\
meter-fill ${kind&&`is-${kind}`}`} width=${`${100*Math.max(0,Math.min(1,part))}%`} height="100%" rx="2" /></svg>`;function Scale({value,lines,label}){let top=lines[lines.
length-1]*1.2,kind=value>=lines[lines.length-1]?"is-bad":value>=lines[0]*.8?"is-warn":"",x=v2=>`${100*Math.min(1,v2/top)}%`;return an`<svg class="scale" role="img" aria-label=${label}><rect class="scale-ground" y="4" width="100%" height="4" rx="2" /><rect class=${`\
scale-fill ${kind}`} y="4" width=${x(value)} height="4" rx="2" />${lines.map(v2=>an`<line class="scale-line" x1=${x(v2)} x2=${x(v2)} y1="0" y2="12" />`)}</svg>`}function Paper({of,body,stamp:stamp2,bench=!1,lead,foot,onAnswer}){let[device,setDevice]=Ut("desktop"),[scheme,setScheme]=Ut("light"),[images,setImages]=Ut(!1),
[shown2,setShown]=Ut({});return Me(()=>{let current=!0;return api.read(of,{...body,...images?{images:!0}:{}}).then(answer=>{current&&(setShown(answer),onAnswer?.(
answer))}).catch(error=>{if(!(error instanceof ApiError))throw error;current&&setShown({error})}),()=>{current=!1}},[of,images,stamp2]),an`<section class=${bench?
"":"sheet wide"} data-device=${device} data-scheme=${scheme} aria-label=${t("frame.label")}>
	<div class=${bench?"bench-head":"sheet-head"}>${lead??an`<span class="muted t12">${images?t("frame.loaded"):t("frame.none")}</span>`}${!images&&shown2.remote_images>
0&&an`<${Button} kind="quiet" onClick=${()=>setImages(!0)}>${t("frame.load",{n:shown2.remote_images})}<//>`}<span class="push"></span>
	<${Seg} label=${t("frame.width")} value=${device} onChange=${setDevice} options=${[["phone",t("frame.phone"),"phone"],["desktop",t("frame.desktop"),"desktop"]]} />
	<${Seg} label=${t("frame.scheme")} value=${scheme} onChange=${setScheme} options=${[["light",t("frame.light"),"sun"],["dark",t("frame.dark"),"moon"]]} /></div>
	${scheme==="dark"&&an`<p class="sheet-note"><${Icon} name="info" />${t("frame.darkNote")}</p>`}
	<div class="sheet-body">${shown2.error?an`<${Failed} error=${shown2.error} />`:an`<div class="paper">${shown2.url&&an`<iframe sandbox="" height=${bench?void 0:
Math.min(560,Math.max(120,Math.round((shown2.height??560)*(device==="phone"?1.4:1))))} src=${shown2.url} title=${t("frame.title")}></iframe>`}</div>`}</div>${foot}</section>`}export{ApiError as api$ApiError,address as api$address,api as api$api,forget as api$forget,proof as api$proof,request as api$request,silent as api$silent,useGet as api$useGet,
useList as api$useList,between as brand_colors$between,colorsOf as brand_colors$colorsOf,contrast as brand_colors$contrast,enough as brand_colors$enough,isColor as brand_colors$isColor,
kitOf as brand_colors$kitOf,stacks as brand_colors$stacks,addContact as contact_acts$addContact,editContact as contact_acts$editContact,removeContacts as contact_acts$removeContacts,
segmentChoice as contact_acts$segmentChoice,toSegment as contact_acts$toSegment,counts as counts$counts,leaving as counts$leaving,readRelays as counts$readRelays,
relays as counts$relays,watch as counts$watch,Left as drafts$Left,Saved as drafts$Saved,forgetDrafts as drafts$forgetDrafts,placeOf as drafts$placeOf,useDraft as drafts$useDraft,
curlOf as email_parts$curlOf,dialogueOf as email_parts$dialogueOf,lookOf as email_parts$lookOf,recipientsOf as email_parts$recipientsOf,replyOf as email_parts$replyOf,
Live as emails$Live,Emails as emails$default,Picks as emails_box$Picks,QueryBox as emails_box$QueryBox,addressOf as emails_query$addressOf,ask as emails_query$ask,
completions as emails_query$completions,isId2 as emails_query$isId,keys as emails_query$keys,read3 as emails_query$read,sources as emails_query$sources,statuses as emails_query$statuses,
timeOf as emails_query$timeOf,timeOfId as emails_query$timeOfId,written as emails_query$written,Views as emails_views$Views,drop2 as emails_views$drop,kept2 as emails_views$kept,
ago as format$ago,clock as format$clock,day as format$day,duration as format$duration,exact as format$exact,gap as format$gap,mailbox as format$mailbox,number as format$number,
percent as format$percent,relative as format$relative,seconds as format$seconds,short as format$short,size as format$size,stamp as format$stamp,Gate as gate$Gate,
Said as gate$Said,about as gate$about,arrive as gate$arrive,enter as gate$enter,own as gate$own,useForm as gate$useForm,helpOf as help$helpOf,find as i18n$find,
language as i18n$language,languages as i18n$languages,preferred as i18n$preferred,say as i18n$say,speak as i18n$speak,t as i18n$t,O as lib_core$Fragment,te as lib_core$batch,
wt as lib_core$cloneElement,B as lib_core$computed,$t as lib_core$createContext,N as lib_core$effect,K as lib_core$h,an as lib_core$html,Nt as lib_core$render,ne as lib_core$signal,
V as lib_core$untracked,At as lib_core$useCallback,It as lib_core$useComputed,Ot as lib_core$useContext,Me as lib_core$useEffect,jt as lib_core$useId,Mt as lib_core$useLayoutEffect,
R as lib_core$useMemo,rt as lib_core$useReducer,le as lib_core$useRef,dt as lib_core$useSignal,Zt as lib_core$useSignalEffect,Ut as lib_core$useState,alone as liquid$alone,
blockTag as liquid$blockTag,canQuote as liquid$canQuote,comparisons as liquid$comparisons,conditionTags as liquid$conditionTags,contactIn as liquid$contactIn,isName as liquid$isName,
isWhole as liquid$isWhole,kept3 as liquid$kept,loopTags as liquid$loopTags,nameOf2 as liquid$nameOf,readAsLiquid as liquid$readAsLiquid,spelled as liquid$spelled,
undeclaredIn as liquid$undeclaredIn,follow as live$follow,hearing as live$hearing,onLive as live$onLive,OwnInvitations as own_invitations$OwnInvitations,can as passkey$can,
make as passkey$make,use as passkey$use,domainIn as paths$domainIn,encoded as paths$encoded,fileAt as paths$fileAt,idOf as paths$idOf,isId as paths$isId,isPath as paths$isPath,
ownDomain as paths$ownDomain,keepLanguage as prefs$keepLanguage,wear as prefs$wear,providers2 as providers$providers,grouped as queue_words$grouped,lookOf2 as queue_words$lookOf,
reasonOf as queue_words$reasonOf,kinds as recent$kinds,noteVisits as recent$noteVisits,recent as recent$recent,RelayFields as relay_form$RelayFields,emptyRelay as relay_form$emptyRelay,
relayURL as relay_form$relayURL,Steps as relays_add$Steps,addDialog as relays_add$addDialog,Light as relays_lights$Light,Relays as relays_lights$Relays,doing as relays_lights$doing,
nameOf3 as relays_lights$nameOf,only as relays_lights$only,base as router$base,go as router$go,href as router$href,match as router$match,place as router$place,setQuery as router$setQuery,
start as router$start,navigation as routes$navigation,publicRoutes as routes$publicRoutes,redirects as routes$redirects,routes as routes$routes,AskFactor as second_factor$AskFactor,
Codes as second_factor$Codes,Digits as second_factor$Digits,NoWayIn as second_factor$NoWayIn,Progress as second_factor$Progress,TurnOn as second_factor$TurnOn,sendDialog as send$sendDialog,
Start as starters$Start,designOf as starters$designOf,hasDesign as starters$hasDesign,mjmlDesign as starters$mjmlDesign,variablesOf as starters$variablesOf,choose as state$choose,
mayAdmin as state$mayAdmin,me2 as state$me,membership as state$membership,signedIn as state$signedIn,signedOut as state$signedOut,stillSignedIn as state$stillSignedIn,
team as state$team,TemplateSections as template_sections$TemplateSections,AudienceSections as ui_audience$AudienceSections,Search as ui_audience$Search,Subscribed as ui_audience$Subscribed,
form as ui_audience$form,nameOf as ui_audience$nameOf,useCount as ui_audience$useCount,Bones as ui_base$Bones,Button as ui_base$Button,Check as ui_base$Check,Code as ui_base$Code,
Copy as ui_base$Copy,CopyButton as ui_base$CopyButton,Empty as ui_base$Empty,Facts as ui_base$Facts,Failed as ui_base$Failed,Field as ui_base$Field,Head as ui_base$Head,
Icon as ui_base$Icon,Id as ui_base$Id,Input as ui_base$Input,Notice as ui_base$Notice,Section as ui_base$Section,Sections as ui_base$Sections,Seg as ui_base$Seg,
Select as ui_base$Select,Status as ui_base$Status,Tabs as ui_base$Tabs,Time as ui_base$Time,Verdict as ui_base$Verdict,copy as ui_base$copy,dialogs as ui_base$dialogs,
useEscape as ui_base$useEscape,Bars as ui_chart$Bars,Legend as ui_chart$Legend,Meter as ui_chart$Meter,Scale as ui_chart$Scale,Spark as ui_chart$Spark,few as ui_chart$few,
scaleOf as ui_chart$scaleOf,DialogBody as ui_float$DialogBody,Dialogs as ui_float$Dialogs,Menu as ui_float$Menu,Toasts as ui_float$Toasts,attempt as ui_float$attempt,
confirm as ui_float$confirm,dialog as ui_float$dialog,toast as ui_float$toast,useAsked as ui_float$useAsked,Paper as ui_frame$Paper,Bulk as ui_list$Bulk,Csv as ui_list$Csv,
Foot as ui_list$Foot,Table as ui_list$Table,address as ui_list$address,mergedVariants as variants$mergedVariants,variantsOf as variants$variantsOf};
