// module:visual-frame.js
import { composeReactEmail, Editor, speak } from "./lib/visual.js";

// module:lib/core.js
var v;
var We;
var we;
var U;
var ge;
var fe;
var qe;
var re;
var Le;
var Se;
var be;
var Ie;
var Z = /* @__PURE__ */ Symbol.for("pv");
var se = {};
var ce = [];
var kt = /^m(i|n|o|s|text|space)$/;
var xe = Array.isArray;
var ae = ce.slice;
var M = Object.assign;
function F(t) {
  t && t.parentNode && t.remove();
}
function K(t, e, n) {
  var i, r, _, o = {}, u = arguments.length;
  for (_ in e) _ == "key" ? i = e[_] : _ == "ref" && typeof t != "function" ? r = e[_] : o[_] = e[_];
  return u > 2 && (o.children = u > 3 ? ae.call(arguments, 2) : n), q(t, o, i, r, null);
}
function q(t, e, n, i, r) {
  var _ = { type: t, props: e, key: n, ref: i, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: Z, __v: r || ++We, __i: -1, __u: 0 };
  return !r && v.vnode && v.vnode(_), _;
}
function O(t) {
  return t.children;
}
function L(t, e) {
  this.props = t, this.context = e, this.__g = 0;
}
function A(t, e) {
  if (e == null) return t.__ && A(t.__, t.__i + 1);
  for (var n; e < t.__k.length; e++) if ((n = t.__k[e]) && n.__e) return n.__e;
  return typeof t.type != "function" || t.props.__P ? null : A(t);
}
function St(t) {
  var e, n = t.__v, i = n.__e, r = [], _ = [], o = t.__P;
  o && ((e = M({ constructor: Z }, n)).__v = n.__v + 1, v.vnode && v.vnode(e), Ce(o, e, n, t.__n, o.namespaceURI, 32 & n.__u ? [i] : null, r, i || A(n), 32 & n.__u, _), e.__v = n.__v, e.__.__k[e.__i] = e, Ze(r, e, _), n.__ = n.__e = null, e.__e != i && Ve(e));
}
function Ve(t) {
  if ((t = t.__) && t.__c && !t.props.__P) return t.__e = null, t.__k.some(function(e) {
    return e && (t.__e = e.__e);
  }), Ve(t);
}
function ke(t) {
  (8 & t.__g || (t.__g |= 8, U.push(t), fe++)) && ge == v.debounceRendering || ((ge = v.debounceRendering) || queueMicrotask)(Be);
}
function Be() {
  try {
    for (var t, e = 1; U.length; ) U.length > e && U.sort(qe), t = U.shift(), e = U.length, 8 & t.__g && St(t);
  } finally {
    (fe = U.length) && (ge || queueMicrotask)(Be);
  }
}
function ze(t, e, n, i, r, _, o, u, c, a, s) {
  var d, l, f, p, x, m, g = i.__k || ce, h = e.length;
  for (c = xt(n, e, g, c, h), d = 0; d < h; d++) (f = n.__k[d]) != null && (l = ~f.__i && g[f.__i] || se, f.__i = d, m = Ce(t, f, l, r, _, o, u, c, a, s), p = f.__e, (l.ref != f.ref || 8 & l.__u) && (l.ref && Pe(l.ref, null, f, l), f.ref && s.push(f.ref, f.__c || p, f)), x = x || p, 4 & f.__u ? (c = Ge(f, c, t, !l.__v), l.__e && (l.__e = null)) : typeof f.type == "function" && m !== void 0 ? c = m : p && (c = p.nextSibling), f.__u &= -21);
  return n.__e = x, c;
}
function xt(t, e, n, i, r) {
  var _, o, u, c, a, s, d, l, f, p = n.length, x = p, m = 0, g = 0, h = t.__k = Array(r);
  for (_ = 0; _ < r; _++) (o = e[_]) != null && typeof o != "boolean" && typeof o != "function" ? (typeof o != "object" || o.constructor === String ? o = h[_] = q(null, o) : xe(o) ? o = h[_] = q(O, { children: o }) : o.constructor === Z && o.__b ? o = h[_] = q(o.type, o.props, o.key, o.ref, o.__v) : h[_] = o, c = _ + m, o.__ = t, o.__b = t.__b + 1, u = null, ~(a = o.__i = Ct(o, n, c, x)) && (x--, (u = n[a]) && (u.__u |= 2)), u && u.__v ? (o.__u |= 16, a == c - 1 ? m-- : a == c + 1 ? m++ : a != c && (a > c ? m-- : m++, g = 1)) : (~a || (r > p ? m-- : r < p && m++), typeof o.type != "function" && (o.__u |= 4))) : h[_] = null;
  if (g) {
    for (s = [], d = [], _ = 0; _ < r; _++) if ((o = h[_]) && 16 & o.__u) {
      for (m = 0, l = s.length; m < l; ) s[f = m + l >> 1] < o.__i ? m = f + 1 : l = f;
      s[m] = o.__i, d[_] = m + 1;
    }
    for (m = s.length; _--; ) d[_] && (d[_] == m ? m-- : h[_].__u |= 4);
  }
  if (x) for (_ = 0; _ < p; _++) !(u = n[_]) || 2 & u.__u || (u.__e == i && (i = A(u)), Te(u, u));
  return i;
}
function Ge(t, e, n, i) {
  var r, _, o, u;
  if (typeof t.type == "function") {
    if (t.props.__P) return e;
    if (r = t.__k) for (_ = 0; _ < r.length; _++) r[_] && (r[_].__ = t, e = Ge(r[_], e, n, false));
    return e;
  }
  for (e && !e.parentNode && (e = A(t)) && !e.parentNode && (e = null), o = t.__e, u = e; u && u.nodeType == 8; ) u = u.nextSibling;
  for (o != u && (!i && n.moveBefore && o.parentNode ? n.moveBefore(o, e) : n.insertBefore(o, e || null)), e = o; (e = e && e.nextSibling) && e.nodeType == 8 && !e.data.startsWith("$s"); ) ;
  return e;
}
function Ct(t, e, n, i) {
  var r, _ = t.key, o = t.type, u = e[n], c = u && !(2 & u.__u);
  if (u === null && _ == null || c && _ == u.key && o == u.type) return n;
  if (i > (c ? 1 : 0)) {
    for (r = n - 1; r >= 0; r--) if ((u = e[r]) && !(2 & u.__u) && _ == u.key && o == u.type) return r;
    for (r = n + 1; r < e.length; r++) if ((u = e[r]) && !(2 & u.__u) && _ == u.key && o == u.type) return r;
  }
  return -1;
}
function Re(t, e, n) {
  n == null && (n = ""), e[0] == "-" ? t.setProperty(e, n) : t[e] = n;
}
function oe(t, e, n, i, r) {
  var _, o;
  if (e == "style") if (typeof n == "string") t.style.cssText = n;
  else {
    if (typeof i == "string" && (t.style.cssText = i = ""), i) for (e in i) n && e in n || Re(t.style, e);
    if (n) for (e in n) i && n[e] == i[e] || Re(t.style, e, n[e]);
  }
  else if (e[0] == "o" && e[1] == "n") typeof n != "function" && (n = null), typeof i != "function" && (i = null), (t.__e || (t.__e = {}))[e] = n, n && i || (o = be[e] || (be[e] = Pt(e)), (t.__a || (t.__a = {}))[e] = Se, _ = e != (e = e.replace(Le, "$1")), (e = e.slice(2))[0] < "a" && (e = e.toLowerCase()), n ? t.addEventListener(e, o, _) : t.removeEventListener(e, o, _));
  else {
    if (r == "http://www.w3.org/2000/svg") e = e.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
    else if (e != "width" && e != "height" && e != "href" && e != "list" && e != "form" && e != "tabIndex" && e != "download" && e != "rowSpan" && e != "colSpan" && e != "role" && e != "popover" && e in t) try {
      return void (t[e] = n ?? "");
    } catch {
    }
    if (typeof n == "function") return;
    n == null || n === false && e[4] != "-" ? t.removeAttribute(e) : t.setAttribute(e, e == "popover" && n == 1 ? "" : n);
  }
}
function Pt(t) {
  return function(e) {
    var n = this.__e;
    if (n) {
      if (n = n[t], e[re] == null) e[re] = Se++;
      else if (e[re] < this.__a[t]) return;
      return n(v.event ? v.event(e) : e);
    }
  };
}
function Ce(t, e, n, i, r, _, o, u, c, a) {
  var s, d, l, f, p, x, m, g, h, C, k, ye, De, _e, H, Fe, $, D, T = e.type;
  if (e.constructor !== Z) return null;
  128 & n.__u && (c = 32 & n.__u, s = n.__c.__z) && (e.__u |= c, d = _ = [], s.nodeType == 8 ? u = ue(s, _) : _.push(s), u = _[0] || u), (s = v.__b) && s(e);
  e: if (typeof T == "function") {
    l = o.length;
    try {
      if (g = e.props, h = (s = T.prototype) && s.render, C = (s = T.contextType) && i[s.__c], k = s ? C ? C.props.value : s.__ : i, (f = n.__c) ? (e.__c = f, 2 & f.__g && (f.__g |= 1)) : (h ? e.__c = f = new T(g, k) : (e.__c = f = new L(g, k), f.constructor = T, f.render = Et), C && C.sub(f), f.state || (f.state = {}), f.__n = i, f.__g |= 8, f.__h = [], f.__k = []), h && (f.__s || (f.__s = f.state), T.getDerivedStateFromProps && (f.__s == f.state && (f.__s = M({}, f.__s)), M(f.__s, T.getDerivedStateFromProps(g, f.__s)))), p = f.props, x = f.state, f.__v = e, n.__c) {
        if (g !== p && h && !T.getDerivedStateFromProps && f.componentWillReceiveProps && f.componentWillReceiveProps(g, k), e.__v == n.__v && !(8 & f.__g) || !(4 & f.__g) && f.shouldComponentUpdate && f.shouldComponentUpdate(g, f.__s, k) === false) {
          e.__v != n.__v && (f.props = g, f.state = f.__s, f.__g &= -9), e.__e = n.__e, e.__k = n.__k, e.__k.some(function(P) {
            P && (P.__ = e);
          }), ce.push.apply(f.__h, f.__k), f.__k = [], f.__h.length && o.push(f), u = A(n);
          break e;
        }
        f.componentWillUpdate && f.componentWillUpdate(g, f.__s, k), h && f.componentDidUpdate && f.__h.push(function() {
          f.componentDidUpdate(p, x, m);
        });
      } else h && !T.getDerivedStateFromProps && f.componentWillMount && f.componentWillMount(), h && f.componentDidMount && f.__h.push(f.componentDidMount);
      f.context = k, f.props = g, f.__P = t, f.__g &= -5, ye = v.__r, De = h ? 25 : 0;
      do
        f.__g &= -9, ye && ye(e), s = f.render(f.props, f.state = f.__s, f.context);
      while (8 & f.__g && ++De < 25);
      h && (ce.push.apply(f.__h, f.__k), f.__k = []), f.state = f.__s, f.getChildContext && (i = M({}, i, f.getChildContext())), h && n.__c && f.getSnapshotBeforeUpdate && (m = f.getSnapshotBeforeUpdate(p, x)), _e = s && s.type === O && s.key == null ? s.props.children : s, g.__P && (s = u, r = (t = g.__P).namespaceURI, c = _ = null, n.props && n.props.__P != t && (n.__k.some(function(P) {
        P && Te(P, P);
      }), n.__k = null), u = n.__k ? A(n, 0) : null), u = ze(t, xe(_e) ? _e : [_e], e, n, i, r, _, o, u, c, a), g.__P && (e.__e = null, u = s), e.__u &= -161, d && d.some(F), f.__h.length && o.push(f), 1 & f.__g && (f.__g &= -4);
    } catch (P) {
      if (o.length = l, e.__v = null, c || _) if (P && P.then) {
        if (e.__u |= 128 | c, _) {
          for (~($ = _.indexOf(u || void 0)) || ($ = _.length); (D = _[$ - 1]) && D.nodeType == 8; ) $--;
          for (; $ < _.length; $++) if (D = _[$]) if (_[$] = null, H) {
            if (D == Fe) break;
          } else {
            if (D.nodeType != 8) break;
            D.data.startsWith("$s") && (Fe = ue(H = D));
          }
        }
        if (!H) {
          for (; u && u.nodeType == 8 && u.nextSibling; ) u = u.nextSibling;
          H = u;
        }
        (s = ue(H = e.__c.__z || (e.__c.__z = H))) ? (e.__e = H, u = s) : e.__e = u, u = u && u.nextSibling;
      } else _ && _.some(F);
      else e.__e = n.__e;
      e.__k || (e.__k = n.__k || []), P && P.then || Je(e), v.__e(P, e, n);
    }
  } else u = e.__e = Tt(n.__e, e, n, i, r, _, o, c, a, t);
  return (s = v.diffed) && s(e), u;
}
function ue(t, e) {
  if (t && t.nodeType == 8 && t.data.startsWith("$s")) for (var n = 1; t = t.nextSibling; ) {
    if (t.nodeType == 8) {
      if (t.data.startsWith("$s")) n++;
      else if (t.data.startsWith("/$s") && !--n) return t;
    }
    e && e.push(t);
  }
}
function Je(t) {
  t && (t.__c && (t.__c.__g |= 4), t.__k && t.__k.some(Je));
}
function Ze(t, e, n) {
  for (var i = 0; i < n.length; ) Pe(n[i++], n[i++], n[i++]);
  v.__c && v.__c(e, t), t.some(function(r) {
    try {
      t = r.__h, r.__h = [], t.some(function(_) {
        _.call(r);
      });
    } catch (_) {
      v.__e(_, r.__v);
    }
  });
}
function Tt(t, e, n, i, r, _, o, u, c, a) {
  var s, d, l, f, p, x, m, g, h = n.props || se, C = e.props, k = e.type;
  if (k == "svg" ? r = "http://www.w3.org/2000/svg" : k == "math" ? r = "http://www.w3.org/1998/Math/MathML" : r || (r = "http://www.w3.org/1999/xhtml"), _) {
    for (s = 0; s < _.length; s++) if ((p = _[s]) && (k ? p.localName == k : p.nodeType == 3)) {
      t = p, _[s] = null;
      break;
    }
  }
  if (!t) {
    if (g = a.ownerDocument || document, !k) return g.createTextNode(C);
    t = g.createElementNS(r, k, C.is ? C : a), u && (v.__m && v.__m(e, _), u = false), _ = null;
  }
  if (k) {
    if (a = k == "template" && t.content || t, _ = k == "textarea" && C.defaultValue != null ? null : _ && ae.call(a.childNodes), !u && _) for (h = {}, s = 0; s < t.attributes.length; s++) h[(p = t.attributes[s]).name] = p.value;
    for (s in h) p = h[s], s == "dangerouslySetInnerHTML" ? l = p : s == "children" || s in C || s == "value" && "defaultValue" in C || s == "checked" && "defaultChecked" in C || oe(t, s, null, p, r);
    for (s in C) p = C[s], s == "children" ? f = p : s == "dangerouslySetInnerHTML" ? d = p : s == "value" ? x = p : s == "checked" ? m = p : u && typeof p != "function" || h[s] === p || oe(t, s, p, h[s], r);
    d ? (u || l && (d.__html == l.__html || d.__html == t.innerHTML) || (t.innerHTML = d.__html), e.__k = []) : (l && (t.textContent = ""), (k == "foreignObject" || r == "http://www.w3.org/1998/Math/MathML" && kt.test(k)) && (r = "http://www.w3.org/1999/xhtml"), ze(a, xe(f) ? f : [f], e, n, i, r, _, o, _ ? _[0] : n.__k && A(n, 0), u, c), _ && _.some(F)), u && k != "textarea" || (s = "value", k == "progress" && x == null ? t.removeAttribute(s) : x == null || x === t[s] && (k != "progress" || x) || oe(t, s, x, h[s], r), s = "checked", m != null && m != t[s] && oe(t, s, m, h[s], r));
  } else h === C || u && t.data == C || (t.data = C);
  return t;
}
function Pe(t, e, n, i) {
  try {
    typeof t == "function" ? e ? e.__x = t(e) || 1 : i && (i = i.__c || i.__e) && (e = i.__x) && (i.__x = null, typeof e == "function" ? e() : t(null)) : t.current = e;
  } catch (r) {
    v.__e(r, n);
  }
}
function Te(t, e, n) {
  var i, r, _, o;
  if (v.unmount && v.unmount(t), !(i = t.ref) || i.current && i.current != t.__e || Pe(i, null, e, t), i = t.__c) {
    if (i.componentWillUnmount) try {
      i.componentWillUnmount();
    } catch (u) {
      v.__e(u, e);
    }
    i.__P = i.__n = null;
  }
  if (i = t.__k) for (o = 0; o < i.length; o++) i[o] && Te(i[o], e, typeof t.type != "function" || n && !t.props.__P);
  !n && (i = t.__c) && (i = i.__z) && (r = ue(i, _ = [])) && (i == t.__e && _.some(F), F(r), F(i)), n || F(t.__e), t.__e = t.__c = t.__ = null;
}
function Et(t, e, n) {
  return this.constructor(t, n);
}
function Nt(t, e) {
  var n, i, r, _;
  v.__ && v.__(t, e), e.nodeType == 9 && (e = e.documentElement), i = (n = t && 32 & t.__u) ? null : e.__k, e.__k = q(O, { children: [t] }), r = [], _ = [], Ce(e, e.__k, i || se, se, e.namespaceURI, i ? null : e.firstChild ? ae.call(e.childNodes) : null, r, i ? i.__e : e.firstChild, n, _), Ze(r, e.__k, _), e.__k.props.children = null;
}
v = { __e: function(t, e, n, i) {
  for (var r, _, o; e = e.__; ) if ((r = e.__c) && !(1 & r.__g)) {
    r.__g |= 4;
    try {
      if ((o = (_ = r.constructor) && _.getDerivedStateFromError) && r.setState(_.getDerivedStateFromError(t)), r.componentDidCatch && (r.componentDidCatch(t, i || {}), o = 1), o && 8 & r.__g) return void (r.__g |= 2);
    } catch (u) {
      t = u;
    }
  }
  throw fe = 0, t;
} }, We = 0, we = function(t) {
  return t != null && t.constructor === Z;
}, L.prototype.setState = function(t, e) {
  var n = this.__s;
  n && n != this.state || (n = this.__s = M({}, this.state)), typeof t == "function" && (t = t(M({}, n), this.props)), t && (M(n, t), this.__v && (e && this.__k.push(e), ke(this)));
}, L.prototype.forceUpdate = function(t) {
  this.__v && (this.__g |= 4, t && this.__h.push(t), ke(this));
}, L.prototype.render = O, U = [], fe = 0, qe = function(t, e) {
  return t.__v.__b - e.__v.__b;
}, re = /* @__PURE__ */ Symbol(), Le = /(PointerCapture)$|Capture$/i, Se = 0, be = {}, Ie = 0;
var j;
var b;
var Ee;
var Ke;
var Ne = Object.is;
var X = 0;
var ot = [];
var $e = [];
var w = v;
var Qe = w.__b;
var Xe = w.__r;
var Ye = w.diffed;
var et = w.__c;
var tt = w.unmount;
var nt = w.__;
function I(t, e) {
  w.__h && w.__h(b, t, X || e), X = 0;
  var n = b.__H || (b.__H = { __: [], __h: [] });
  return t >= n.__.length && n.__.push({}), n.__[t];
}
function Ut(t) {
  return X = 1, rt(ut, t);
}
function rt(t, e, n) {
  var i = I(j++, 2);
  if (i.t = t, !i.__c && (i.__ = [n ? n(e) : ut(void 0, e), function(_) {
    var o = (i.__N || i.__)[0], u = i.t(o, _);
    Ne(o, u) || (i.__N = [u, i.__[1]], i.__c.setState({}));
  }], i.__c = b, !b.__f)) {
    b.__f = true;
    var r = b.shouldComponentUpdate;
    b.shouldComponentUpdate = function(_, o, u) {
      var c = this.__H;
      if (!c) return true;
      var a = false, s = this.props != _;
      if (c.__.some(function(l) {
        l.__N && (a = true, Ne(l.__[0], l.__N[0]) || (s = true));
      }), r) {
        var d = r.call(this, _, o, u);
        return a ? d || s : d;
      }
      return !a || s;
    };
  }
  return i.__;
}
function Me(t, e) {
  var n = I(j++, 3);
  !w.__s && Ae(n.__H, e) && (n.__P = true, n.__ = t, n.u = e, b.__H.__h.push(n));
}
function R(t, e) {
  var n = I(j++, 7);
  return Ae(n.__H, e) && (n.__ = t(), n.__H = e), n.__;
}
function Ht() {
  var t;
  do {
    for (; t = $e.shift(); ) try {
      Q(t);
    } catch (n) {
      w.__e(n, { __: (t = t.__P) && t.__v });
    }
    for (; t = ot.shift(); ) {
      var e = t.__H;
      if (t.__P && e) try {
        e.__h.some(Q), e.__h.some(Ue), e.__h = [];
      } catch (n) {
        e.__h = [], w.__e(n, t.__v);
      }
    }
  } while ($e.length);
}
w.__b = function(t) {
  b = null, Qe && Qe(t);
}, w.__ = function(t, e) {
  t && e.__k && e.__k.__m && (t.__m = e.__k.__m), nt && nt(t, e);
}, w.__r = function(t) {
  Xe && Xe(t), j = 0;
  var e = (b = t.__c).__H;
  e && (Ee == b ? b.__h = [] : (e.__h.some(Q), e.__h.some(Ue), j = 0), e.__h = [], e.__.some(function(n) {
    n.__N && (n.__ = n.__N), n.u = n.__N = void 0;
  })), Ee = b;
}, w.diffed = function(t) {
  Ye && Ye(t);
  var e = t.__c;
  e && e.__H && (e.__H.__h.length && _t(ot.push(e)), e.__H.__.some(function(n) {
    n.u && (n.__H = n.u);
  })), Ee = b = null;
}, w.__c = function(t, e) {
  e.some(function(n) {
    try {
      n.__h.some(Q), n.__h = n.__h.filter(function(i) {
        return !i.__ || Ue(i);
      });
    } catch (i) {
      n.__h = [function() {
        throw i;
      }];
    }
  }), et && et(t, e);
}, w.unmount = function(t) {
  tt && tt(t);
  var e, n, i = t.__c;
  i && i.__H && (i.__H.__.some(function(r) {
    try {
      if (r.__P && r.__c) {
        if (n === void 0) {
          for (n = t.__; n && (!n.__c || !n.__c.__P); ) n = n.__;
          n = n && n.__c;
        }
        r.__P = n, _t($e.push(r));
      } else Q(r);
    } catch (_) {
      e = _;
    }
  }), i.__H = void 0, e && w.__e(e, i.__v));
};
var it = typeof requestAnimationFrame == "function";
function Dt(t) {
  var e, n = function() {
    clearTimeout(i), it && cancelAnimationFrame(e), setTimeout(t);
  }, i = setTimeout(n, 35);
  it && (e = requestAnimationFrame(n));
}
function _t(t) {
  t != 1 && Ke == w.requestAnimationFrame || ((Ke = w.requestAnimationFrame) || Dt)(Ht);
}
function Q(t) {
  var e = b, n = t.__c;
  typeof n == "function" && (t.__c = void 0, n()), b = e;
}
function Ue(t) {
  var e = b;
  t.__c = t.__(), b = e;
}
function Ae(t, e) {
  return !t || t.length != e.length || e.some(function(n, i) {
    return !Ne(n, t[i]);
  });
}
function ut(t, e) {
  return typeof e == "function" ? e(t) : e;
}
var Ft = /* @__PURE__ */ Symbol.for("preact-signals");
function de() {
  if (E > 1) E--;
  else {
    var t, e = false;
    for ((function() {
      var r = he;
      for (he = void 0; r !== void 0; ) {
        var _ = r.S;
        if (_.v === r.v) for (var o = _.t; o !== void 0; o = o.x) o.i === r.i && (o.i = _.i);
        r = r.o;
      }
    })(); ee !== void 0; ) {
      var n = ee;
      for (ee = void 0, pe++; n !== void 0; ) {
        var i = n.u;
        if (n.u = void 0, n.f &= -3, !(8 & n.f) && st(n)) try {
          n.c();
        } catch (r) {
          e || (t = r, e = true);
        }
        n = i;
      }
    }
    if (pe = 0, E--, e) throw t;
  }
}
function te(t) {
  if (E > 0) return t();
  Oe = ++Rt, E++;
  try {
    return t();
  } finally {
    de();
  }
}
var Y;
var y = void 0;
function V(t) {
  var e = y, n = Y;
  y = void 0, Y = void 0;
  try {
    return t();
  } finally {
    y = e, Y = n;
  }
}
var ee = void 0;
var E = 0;
var pe = 0;
var Rt = 0;
var Oe = 0;
var he = void 0;
var ve = 0;
function ft(t) {
  if (y !== void 0) {
    var e = t.n;
    if (e === void 0 || e.t !== y) return e = { i: 0, S: t, p: y.s, n: void 0, t: y, e: void 0, x: void 0, r: e }, y.s !== void 0 && (y.s.n = e), y.s = e, t.n = e, 32 & y.f && t.S(e), e;
    if (e.i === -1) return e.i = 0, e.n !== void 0 && (e.n.p = e.p, e.p !== void 0 && (e.p.n = e.n), e.p = y.s, e.n = void 0, y.s.n = e, y.s = e), e;
  }
}
function S(t, e) {
  this.v = t, this.i = 0, this.n = void 0, this.t = void 0, this.l = 0, this.W = e?.watched, this.Z = e?.unwatched, this.name = e?.name;
}
S.prototype.brand = Ft;
S.prototype.h = function() {
  return true;
};
S.prototype.S = function(t) {
  var e = this, n = this.t;
  n !== t && t.e === void 0 && (t.x = n, this.t = t, n !== void 0 ? n.e = t : V(function() {
    var i;
    (i = e.W) == null || i.call(e);
  }));
};
S.prototype.U = function(t) {
  var e = this;
  if (this.t !== void 0) {
    var n = t.e, i = t.x;
    n !== void 0 && (n.x = i, t.e = void 0), i !== void 0 && (i.e = n, t.x = void 0), t === this.t && (this.t = i, i === void 0 && V(function() {
      var r;
      (r = e.Z) == null || r.call(e);
    }));
  }
};
S.prototype.subscribe = function(t) {
  var e = this;
  return N(function() {
    var n = e.value;
    V(function() {
      return t(n);
    });
  }, { name: "sub" });
};
S.prototype.valueOf = function() {
  return this.value;
};
S.prototype.toString = function() {
  return this.value + "";
};
S.prototype.toJSON = function() {
  return this.value;
};
S.prototype.peek = function() {
  var t = this;
  return V(function() {
    return t.value;
  });
};
Object.defineProperty(S.prototype, "value", { get: function() {
  var t = ft(this);
  return t !== void 0 && (t.i = this.i), this.v;
}, set: function(t) {
  if (t !== this.v) {
    if (pe > 100) throw new Error("Cycle detected");
    (function(n) {
      E !== 0 && pe === 0 && n.l !== Oe && (n.l = Oe, he = { S: n, v: n.v, i: n.i, o: he });
    })(this), this.v = t, this.i++, ve++, E++;
    try {
      for (var e = this.t; e !== void 0; e = e.x) e.t.N();
    } finally {
      de();
    }
  }
} });
function ne(t, e) {
  return new S(t, e);
}
function st(t) {
  for (var e = t.s; e !== void 0; e = e.n) if (e.S.i !== e.i || !e.S.h() || e.S.i !== e.i) return true;
  return false;
}
function ct(t) {
  for (var e = t.s; e !== void 0; e = e.n) {
    var n = e.S.n;
    if (n !== void 0 && (e.r = n), e.S.n = e, e.i = -1, e.n === void 0) {
      t.s = e;
      break;
    }
  }
}
function at(t) {
  for (var e = t.s, n = void 0; e !== void 0; ) {
    var i = e.p;
    e.i === -1 ? (e.S.U(e), i !== void 0 && (i.n = e.n), e.n !== void 0 && (e.n.p = i)) : n = e, e.S.n = e.r, e.r !== void 0 && (e.r = void 0), e = i;
  }
  t.s = n;
}
function W(t, e) {
  S.call(this, void 0, e), this.x = t, this.s = void 0, this.g = ve - 1, this.f = 4;
}
W.prototype = new S();
W.prototype.h = function() {
  if (this.f &= -3, 1 & this.f) return false;
  if ((36 & this.f) == 32 || (this.f &= -5, this.g === ve)) return true;
  if (this.g = ve, this.f |= 1, this.i > 0 && !st(this)) return this.f &= -2, true;
  var t = y;
  try {
    ct(this), y = this;
    var e = this.x();
    (16 & this.f || this.v !== e || this.i === 0) && (this.v = e, this.f &= -17, this.i++);
  } catch (n) {
    this.v = n, this.f |= 16, this.i++;
  }
  return y = t, at(this), this.f &= -2, true;
};
W.prototype.S = function(t) {
  if (this.t === void 0) {
    this.f |= 36;
    for (var e = this.s; e !== void 0; e = e.n) e.S.S(e);
  }
  S.prototype.S.call(this, t);
};
W.prototype.U = function(t) {
  if (this.t !== void 0 && (S.prototype.U.call(this, t), this.t === void 0)) {
    this.f &= -33;
    for (var e = this.s; e !== void 0; e = e.n) e.S.U(e);
  }
};
W.prototype.N = function() {
  if (!(2 & this.f)) {
    this.f |= 6;
    for (var t = this.t; t !== void 0; t = t.x) t.t.N();
  }
};
Object.defineProperty(W.prototype, "value", { get: function() {
  if (1 & this.f) throw new Error("Cycle detected");
  var t = ft(this);
  if (this.h(), t !== void 0 && (t.i = this.i), 16 & this.f) throw this.v;
  return this.v;
} });
function B(t, e) {
  return new W(t, e);
}
function lt(t) {
  var e = t.j;
  if (t.j = void 0, typeof e == "function") {
    E++;
    var n = y;
    y = void 0;
    try {
      e();
    } catch (i) {
      throw t.f &= -2, t.f |= 8, je(t), i;
    } finally {
      y = n, de();
    }
  }
}
function je(t) {
  for (var e = t.s; e !== void 0; e = e.n) e.S.U(e);
  t.x = void 0, t.s = void 0, lt(t);
}
function Wt(t) {
  if (y !== this) throw new Error("Out-of-order effect");
  at(this), y = t, this.f &= -2;
  try {
    8 & this.f && je(this);
  } finally {
    de();
  }
}
function z(t, e) {
  this.x = t, this.j = void 0, this.s = void 0, this.u = void 0, this.f = 32, this.name = e?.name, Y && Y.push(this);
}
z.prototype.c = function() {
  var t = this.S();
  try {
    if (8 & this.f || this.x === void 0) return;
    var e = this.x();
    typeof e == "function" && (this.j = e);
  } finally {
    t();
  }
};
z.prototype.S = function() {
  if (1 & this.f) throw new Error("Cycle detected");
  this.f |= 1, this.f &= -9, lt(this), ct(this), E++;
  var t = y;
  return y = this, Wt.bind(this, t);
};
z.prototype.N = function() {
  2 & this.f || (this.f |= 2, this.u = ee, ee = this);
};
z.prototype.d = function() {
  this.f |= 8, 1 & this.f || je(this);
};
z.prototype.dispose = function() {
  this.d();
};
function N(t, e) {
  var n = new z(t, e);
  try {
    n.c();
  } catch (r) {
    throw n.d(), r;
  }
  var i = n.d.bind(n);
  return i[Symbol.dispose] = i, i;
}
var He;
var G;
var me;
var qt = typeof window < "u" && !!window.__PREACT_SIGNALS_DEVTOOLS__;
var ht = [];
N(function() {
  He = this.N;
})();
function J(t, e) {
  v[t] = e.bind(null, v[t] || function() {
  });
}
function ie(t) {
  if (me) {
    var e = me;
    me = void 0, e();
  }
  me = t && t.S();
}
function vt(t) {
  var e = this, n = t.data, i = dt(n);
  i.name = "ReactiveDom", i.value = n;
  var r = R(function() {
    for (var u = e, c = e.__v; c = c.__; ) if (c.__c) {
      c.__c.__$f |= 4;
      break;
    }
    var a = B(function() {
      var f = i.value.value;
      return f === 0 ? 0 : f === true ? "" : f || "";
    }), s = B(function() {
      return !Array.isArray(a.value) && !we(a.value);
    }), d = N(function() {
      if (this.N = mt, s.value) {
        var f = a.value;
        u.__v && u.__v.__e && u.__v.__e.nodeType === 3 && (u.__v.__e.data = f);
      }
    }), l = e.__$u.d;
    return e.__$u.d = function() {
      d(), l.call(this);
    }, [s, a];
  }, []), _ = r[0], o = r[1];
  return _.value ? o.peek() : o.value;
}
vt.displayName = "ReactiveTextNode";
Object.defineProperties(S.prototype, { constructor: { configurable: true, value: K(O, null).constructor }, type: { configurable: true, value: vt }, props: { configurable: true, get: function() {
  var t = this;
  return { data: { get value() {
    return t.value;
  } } };
} }, __b: { configurable: true, value: 1 } });
J("__b", function(t, e) {
  if (ie(), G = void 0, typeof e.type == "string") {
    var n, i = e.props;
    for (var r in i) if (r !== "children") {
      var _ = i[r];
      _ instanceof S && (n || (e.__np = n = {}), n[r] = _, i[r] = _.peek());
    }
  }
  t(e);
});
J("__r", function(t, e) {
  if (t(e), e.type !== O) {
    ie();
    var n, i = e.__c;
    i && (i.__$f &= -2, (n = i.__$u) === void 0 && (i.__$u = n = (function(r, _) {
      var o;
      return N(function() {
        o = this;
      }, { name: _ }), o.c = r, o;
    })(/* @__PURE__ */ (function(r) {
      return function() {
        var _;
        qt && ((_ = this.y) == null || _.call(this)), r.__$f |= 1, r.setState({});
      };
    })(i), typeof e.type == "function" ? e.type.displayName || e.type.name : ""))), G = i, ie(n);
  }
});
J("__e", function(t, e, n, i) {
  ie(), G = void 0, t(e, n, i);
});
J("diffed", function(t, e) {
  ie(), G = void 0;
  var n;
  if (typeof e.type == "string" && (n = e.__e)) {
    var i = e.__np, r = e.props, _ = n.U;
    if (_) for (var o in _) {
      var u = _[o];
      u === void 0 || i && o in i || (u.d(), _[o] = void 0);
    }
    if (i) {
      _ || (_ = {}, n.U = _);
      for (var c in i) {
        var a = _[c], s = i[c];
        a === void 0 ? (a = Lt(n, c, s, r), _[c] = a) : a.o(s, r);
      }
    }
  }
  t(e);
});
function Lt(t, e, n, i) {
  var r = e in t && t.ownerSVGElement === void 0, _ = ne(n);
  return { o: function(o, u) {
    _.value = o, i = u;
  }, d: N(function() {
    this.N = mt;
    var o = _.value.value;
    i[e] !== o && (i[e] = o, r ? t[e] = o : o != null && (o !== false || e[4] === "-") ? t.setAttribute(e, o) : t.removeAttribute(e));
  }) };
}
J("unmount", function(t, e) {
  if (typeof e.type == "string") {
    var n = e.__e;
    if (n) {
      var i = n.U;
      if (i) {
        n.U = void 0;
        for (var r in i) {
          var _ = i[r];
          _ && _.d();
        }
      }
    }
    var o = e.__np;
    if (o) {
      var u = e.props;
      for (var c in o) u[c] = o[c];
    }
    e.__np = void 0;
  } else {
    var a = e.__c;
    if (a) {
      a.__$f |= 8;
      var s = a.__$u;
      s && (a.__$u = void 0, s.d());
    }
  }
  t(e);
});
J("__h", function(t, e, n, i) {
  i < 3 && (e.__$f |= 2), t(e, n, i);
});
L.prototype.shouldComponentUpdate = function(t, e) {
  if (this.__R) return true;
  var n = this.__$u, i = n && n.s !== void 0;
  for (var r in e) return true;
  if (this.__f || typeof this.u == "boolean" && this.u === true) {
    var _ = 2 & this.__$f;
    if (!(i || _ || 4 & this.__$f) || 1 & this.__$f) return true;
  } else if (!(i || 4 & this.__$f) || 3 & this.__$f) return true;
  for (var o in t) if (o !== "__source" && t[o] !== this.props[o]) return true;
  for (var u in this.props) if (!(u in t)) return true;
  return false;
};
function dt(t, e) {
  return R(function() {
    return ne(t, e);
  }, []);
}
var Bt = function(t) {
  queueMicrotask(function() {
    queueMicrotask(t);
  });
};
function Jt() {
  te(function() {
    for (var t; t = ht.shift(); ) He.call(t);
  });
}
function mt() {
  ht.push(this) === 1 && (v.requestAnimationFrame || Bt)(Jt);
}
var gt = function(t, e, n, i) {
  var r;
  e[0] = 0;
  for (var _ = 1; _ < e.length; _++) {
    var o = e[_++], u = e[_] ? (e[0] |= o ? 1 : 2, n[e[_++]]) : e[++_];
    o === 3 ? i[0] = u : o === 4 ? i[1] = Object.assign(i[1] || {}, u) : o === 5 ? (i[1] = i[1] || {})[e[++_]] = u : o === 6 ? i[1][e[++_]] += u + "" : o ? (r = t.apply(u, gt(t, u, n, ["", null])), i.push(r), u[0] ? e[0] |= 2 : (e[_ - 2] = 0, e[_] = r)) : i.push(u);
  }
  return i;
};
var yt = /* @__PURE__ */ new Map();
function bt(t) {
  var e = yt.get(this);
  return e || (e = /* @__PURE__ */ new Map(), yt.set(this, e)), (e = gt(this, e.get(t) || (e.set(t, e = (function(n) {
    for (var i, r, _ = 1, o = "", u = "", c = [0], a = function(l) {
      _ === 1 && (l || (o = o.replace(/^\s*\n\s*|\s*\n\s*$/g, ""))) ? c.push(0, l, o) : _ === 3 && (l || o) ? (c.push(3, l, o), _ = 2) : _ === 2 && o === "..." && l ? c.push(4, l, 0) : _ === 2 && o && !l ? c.push(5, 0, true, o) : _ >= 5 && ((o || !l && _ === 5) && (c.push(_, 0, o, r), _ = 6), l && (c.push(_, l, 0, r), _ = 6)), o = "";
    }, s = 0; s < n.length; s++) {
      s && (_ === 1 && a(), a(s));
      for (var d = 0; d < n[s].length; d++) i = n[s][d], _ === 1 ? i === "<" ? (a(), c = [c], _ = 3) : o += i : _ === 4 ? o === "--" && i === ">" ? (_ = 1, o = "") : o = i + o[0] : u ? i === u ? u = "" : o += i : i === '"' || i === "'" ? u = i : i === ">" ? (a(), _ = 1) : _ && (i === "=" ? (_ = 5, r = o, o = "") : i === "/" && (_ < 5 || n[s][d + 1] === ">") ? (a(), _ === 3 && (c = c[0]), _ = c, (c = c[0]).push(2, 0, _), _ = 0) : i === " " || i === "	" || i === `
` || i === "\r" ? (a(), _ = 2) : o += i), _ === 3 && o === "!--" && (_ = 4, c = c[0]);
    }
    return a(), c;
  })(t)), e), arguments, [])).length > 1 ? e : e[0];
}
var an = bt.bind(K);

// module:visual-nodes.js
import { Anchor, Divider, EmailNode, EmailTheming, Heading, Img, Link, StarterKit, jsx } from "./lib/visual.js";
var spelled = ({ key, fallback }) => `{{{${key}${fallback === null || fallback === void 0 ? "" : `|${fallback}`}}}}`;
var placeholder = /\{\{\{\s*((?:contact\.)?\w+)\s*(?:\|([^{}]*))?\}\}\}/;
var variableOf = (match) => ({ key: match[1], fallback: match[2] === void 0 ? null : match[2].trim() });
var Variable = EmailNode.create({
  name: "variable",
  group: "inline",
  inline: true,
  atom: true,
  selectable: true,
  addAttributes: () => ({ key: { default: "FIRST_NAME" }, fallback: { default: null } }),
  parseHTML: () => [{ tag: "span[data-variable]", getAttrs: (element) => variableOf(element.dataset.variable.match(placeholder) ?? [null, "FIRST_NAME"]) }],
  renderHTML: ({ node }) => ["span", { class: "chip", "data-variable": spelled(node.attrs), title: spelled(node.attrs) }, node.attrs.key.replace(/^contact\./, "")],
  renderText: ({ node }) => spelled(node.attrs),
  addInputRules() {
    return [{
      find: new RegExp(`${placeholder.source}$`),
      undoable: true,
      handler: ({ range, match, chain }) => void chain().deleteRange(range).insertContentAt(range.from, { type: "variable", attrs: variableOf(match) }).run()
    }];
  },
  renderToReactEmail: ({ node }) => spelled({ fallback: null, ...node.attrs })
});
var Image = EmailNode.create({
  name: "image",
  group: "block",
  atom: true,
  draggable: true,
  addAttributes: () => ({ src: { default: "" }, alt: { default: "" }, width: { default: null }, alignment: { default: "left" }, href: { default: null } }),
  parseHTML: () => [{ tag: "div[data-image]" }, { tag: 'img[src^="https://"]', getAttrs: (element) => ({ src: element.getAttribute("src"), alt: element.getAttribute("alt") ?? "" }) }],
  renderHTML: ({ node }) => ["div", { class: "visual-image", "data-image": "" }, ["span", { class: "medium" }, node.attrs.alt || "–"], ["span", { class: "cut" }, node.attrs.src || "https://"]],
  renderToReactEmail: ({ node, style }) => {
    const { src, alt, width, alignment, href } = node.attrs;
    if (!src) return null;
    const margin = { center: "0 auto", right: "0 0 0 auto" }[alignment];
    const image = jsx(Img, { src, alt: alt ?? "", width: width ?? void 0, style: { ...style, maxWidth: "100%", ...margin ? { margin } : {} } });
    return href ? jsx(Anchor, { href, children: image }) : image;
  }
});
var mayLead = (href) => /^(https?:\/\/|mailto:|tel:|\{\{\{)\S+$/i.test(href);
var { serializerPlugin } = EmailTheming.options;
var looks = {
  container: { paddingTop: "24px", paddingRight: "24px", paddingBottom: "24px", paddingLeft: "24px" },
  columnsColumn: { width: "50%", verticalAlign: "top", paddingRight: "12px" }
};
var logoOf = (kit) => EmailNode.create({
  name: "brandLogo",
  group: "block",
  atom: true,
  draggable: true,
  parseHTML: () => [{ tag: "div[data-brand-logo]" }],
  renderHTML: () => ["div", { class: "visual-brand", "data-brand-logo": "" }, ...kit.logo?.shown ? [["img", { src: kit.logo.shown, alt: kit.name, width: kit.logo.width, height: kit.logo.height }]] : [kit.name]],
  renderToReactEmail: () => {
    if (!kit.logo) return jsx("div", { style: { margin: "0 0 16px", fontSize: "18px", fontWeight: 600, ...fontOf(kit) }, children: kit.name });
    const { src, width, height } = kit.logo;
    return jsx("div", { style: { margin: "0 0 16px" }, children: jsx(Img, { src, alt: kit.name, width: width ?? void 0, height, style: { maxWidth: "100%" } }) });
  }
});
var footerOf = (kit, words) => EmailNode.create({
  name: "brandFooter",
  group: "block",
  atom: true,
  draggable: true,
  parseHTML: () => [{ tag: "div[data-brand-footer]" }],
  renderHTML: () => ["div", { class: `visual-foot ${kit.footer ? "" : "visual-foot--none"}`, "data-brand-footer": "" }, kit.footer ?? words.footerNone],
  renderToReactEmail: () => kit.footer && jsx("div", { style: { margin: "12px 0 0", color: "#5d6470", fontSize: "12px", lineHeight: "18px", ...fontOf(kit) }, children: kit.footer.split("\n").flatMap((line, i) => i ? [jsx("br"), line] : [line]) })
});
var fontOf = (kit) => kit.font ? { fontFamily: kit.font } : {};
var lettered = ["container", "paragraph", "heading", "blockquote", "button", "listItem", "columnsColumn"];
var branded = (kit, type) => ({
  ...lettered.includes(type) ? fontOf(kit) : {},
  ...kit.colors && type === "button" ? { backgroundColor: kit.colors.button, color: kit.colors.on } : {},
  ...kit.colors && type === "link" ? { color: kit.colors.link } : {}
});
var theming = (kit) => EmailTheming.configure({ theme: "basic", serializerPlugin: { ...serializerPlugin, getNodeStyles: (node, ...more) => {
  const { align, ...style } = serializerPlugin.getNodeStyles(node, ...more);
  return { ...style, ...looks[node.type], ...branded(kit, node.type) };
} } });
var extensions = (kit, words) => [
  StarterKit.configure({
    CodeBlockPrism: false,
    Code: false,
    ThreeColumns: false,
    FourColumns: false,
    Table: false,
    TableRow: false,
    TableCell: false,
    TableHeader: false,
    Body: false,
    Div: false,
    Section: false,
    Sup: false,
    Uppercase: false,
    PreservedStyle: false,
    PreviewText: false,
    Heading: false,
    Divider: false,
    Link: false,
    FocusScopes: false
    // it forgets what is chosen when a field beside is typed into
  }),
  // Their views are React's: the plain ones of the document do.
  Heading.extend({ addNodeView: () => null }).configure({ levels: [1, 2, 3] }).extend({
    renderHTML: ({ node, HTMLAttributes }) => [`h${node.attrs.level}`, { ...HTMLAttributes, class: `node-h${node.attrs.level}` }, 0]
  }),
  Divider.extend({ addNodeView: () => null, renderHTML: () => ["hr", { class: "node-hr" }] }),
  Link.configure({ openOnClick: false, autolink: false, isAllowedUri: (href) => mayLead(href ?? ""), HTMLAttributes: { class: "node-link", rel: null, target: "_blank" } }),
  theming(kit),
  Variable,
  Image,
  logoOf(kit),
  footerOf(kit, words)
];

// module:visual-tools.js
import { NodeSelection } from "./lib/visual.js";
var Tool = ({ icon, word, on, id, disabled = false, run }) => an`<button type="button" class="btn btn--quiet btn--icon" id=${id} aria-label=${word} title=${word} aria-pressed=${on === void 0 ? void 0 : String(Boolean(on))} disabled=${disabled} onMouseDown=${(e) => e.preventDefault()} onClick=${run}><svg class="icon" aria-hidden="true"><use href=${`#i-${icon}`} /></svg></button>`;
var Choice = ({ label, value, options, onChange }) => an`<span class="select-wrap"><select class="select" aria-label=${label} value=${value} onChange=${(e) => {
  const chosen = e.currentTarget.value;
  e.currentTarget.value = value;
  onChange(chosen);
}}>${options.map(([id, name]) => an`<option value=${id} selected=${id === value}>${name}</option>`)}</select><svg class="icon" aria-hidden="true"><use href="#i-down" /></svg></span>`;
var blocks = ["paragraph", "heading1", "heading2", "heading3", "blockquote"];
var blockOf = (editor2) => editor2.isActive("blockquote") ? "blockquote" : blocks.find((name) => /\d$/.test(name) && editor2.isActive("heading", { level: Number(name.slice(-1)) })) ?? "paragraph";
function turn(editor2, name) {
  const chain = editor2.chain().focus();
  if (editor2.isActive("blockquote") && name !== "blockquote") chain.lift("blockquote");
  if (name === "blockquote") chain.setParagraph().wrapIn("blockquote").run();
  else if (name === "paragraph") chain.setParagraph().run();
  else chain.setHeading({ level: Number(name.slice(-1)) }).run();
}
function thing(editor2) {
  const { selection } = editor2.state;
  if (selection instanceof NodeSelection && ["variable", "image"].includes(selection.node.type.name)) return { kind: selection.node.type.name, attrs: selection.node.attrs, at: selection.from };
  if (editor2.isActive("button")) return { kind: "button", attrs: editor2.getAttributes("button"), at: selection.$from.before() };
  if (editor2.isActive("link")) return { kind: "link", attrs: editor2.getAttributes("link"), at: selection.from };
  return null;
}
function Tools({ editor: editor2, said: said2 }) {
  const { words } = said2;
  if (!words) return null;
  const of = editor2 && thing(editor2);
  return an`<div class="visual-tools" role="toolbar" aria-label=${words.tools}>${editor2 && an`<${Looks} editor=${editor2} words=${words} /><${Put} editor=${editor2} said=${said2} />`}</div>
	${of && an`<${Fields} key=${`${of.kind} ${of.at}`} editor=${editor2} of=${of} said=${said2} />`}
	<div class="visual-sheet" onMouseDown=${(e) => {
    if (e.target.closest(".ProseMirror") || !editor2) return;
    e.preventDefault();
    editor2.commands.focus("end");
  }}><div id="sheet" class="visual-paper"></div></div>`;
}
function Looks({ editor: editor2, words }) {
  const act = (name, ...more) => () => editor2.chain().focus()[name](...more).run();
  const align = ["left", "center", "right"].find((side) => editor2.isActive({ alignment: side })) ?? "left";
  const put = (side) => {
    const chain = editor2.chain().focus();
    for (const name of ["paragraph", "heading", "button", "image"]) if (editor2.isActive(name)) chain.updateAttributes(name, { alignment: side });
    chain.run();
  };
  return an`<${Choice} label=${words.block} value=${blockOf(editor2)} options=${blocks.map((name) => [name, words[name]])} onChange=${(name) => turn(editor2, name)} />
	<span class="visual-group">${[["bold", "toggleBold"], ["italic", "toggleItalic"], ["underline", "toggleUnderline"], ["strike", "toggleStrike"]].map(([name, run]) => an`<${Tool} key=${name} icon=${name} word=${words[name]} on=${editor2.isActive(name)} run=${act(run)} />`)}
	<${Tool} icon="link" id="visual-link" word=${words.link} on=${editor2.isActive("link")} disabled=${editor2.state.selection.empty && !editor2.isActive("link")} run=${() => {
    if (!editor2.isActive("link")) editor2.chain().focus().setMark("link", { href: "" }).run();
    requestAnimationFrame(() => (
      /** @type {any} */
      document.getElementById("visual-address")?.select()
    ));
  }} /></span>
	<span class="visual-group"><${Tool} icon="bullets" word=${words.bullets} on=${editor2.isActive("bulletList")} run=${act("toggleBulletList")} /><${Tool} icon="numbers" word=${words.numbers} on=${editor2.isActive("orderedList")} run=${act("toggleOrderedList")} /></span>
	<span class="visual-group">${[["left", "start"], ["center", "center"], ["right", "end"]].map(([side, icon]) => an`<${Tool} key=${side} icon=${icon} word=${words[side]} on=${align === side} run=${() => put(side)} />`)}</span>
	<span class="visual-group"><${Tool} icon="undo" word=${words.undo} disabled=${!editor2.can().undo()} run=${act("undo")} /><${Tool} icon="redo" word=${words.redo} disabled=${!editor2.can().redo()} run=${act("redo")} /></span>`;
}
function Put({ editor: editor2, said: { words, known, unsubscribe } }) {
  const behind = (inline = false) => {
    const { selection } = editor2.state;
    const at2 = selection.node ? selection.to : !inline && selection.$to.parent.type.name === "button" ? selection.$to.after() : 0;
    if (at2) editor2.chain().insertContentAt(at2, { type: "paragraph" }).setTextSelection(at2 + 1).run();
  };
  const insert = (content, inline = false) => {
    behind(inline);
    editor2.chain().focus().insertContent(content).run();
  };
  const choose = (content) => {
    insert(content);
    let put = null;
    editor2.state.doc.nodesBetween(0, editor2.state.selection.to, (node, at2) => {
      if (node.type.name === content.type) put = { node, at: at2 };
    });
    if (!put) return;
    if (put.node.isAtom) editor2.commands.setNodeSelection(put.at);
    else editor2.commands.setTextSelection({ from: put.at + 1, to: put.at + put.node.nodeSize - 1 });
  };
  const things = {
    button: () => choose({ type: "button", attrs: { href: "" }, content: [{ type: "text", text: words.buttonText }] }),
    image: () => choose({ type: "image" }),
    brandLogo: () => insert({ type: "brandLogo" }),
    brandFooter: () => insert({ type: "brandFooter" }),
    divider: () => insert({ type: "horizontalRule" }),
    columns: () => {
      behind();
      editor2.chain().focus().insertColumns(2).run();
    },
    unsubscribe: () => insert([{ type: "text", text: words.unsubscribeText, marks: [{ type: "link", attrs: { href: "{{{UNSUBSCRIBE_URL}}}" } }] }], true)
  };
  return an`<${Choice} label=${words.variable} value="" options=${[["", words.variable], ...known.map(({ name }) => [name, name.replace(/^contact\./, "")])]} onChange=${(key) => key && insert({ type: "variable", attrs: { key, fallback: null } }, true)} />
	<${Choice} label=${words.insert} value="" options=${[["", words.insert], ...Object.keys(things).filter((name) => unsubscribe || name !== "unsubscribe").map((name) => [name, words[name]])]} onChange=${(name) => name && things[name]()} />`;
}
function Line({ id, label, value, hint, wrong, onInput }) {
  const [typed, type] = Ut(value ?? "");
  Me(() => type(value ?? ""), [value]);
  return an`<label class="visual-field"><span>${label}</span><input class="input" id=${id} value=${typed} placeholder=${hint} aria-invalid=${wrong?.(typed) ? "true" : void 0} onInput=${(e) => {
    type(e.currentTarget.value);
    if (!wrong?.(e.currentTarget.value)) onInput(e.currentTarget.value);
  }} /></label>`;
}
function Fields({ editor: editor2, of: { kind, attrs, at: at2 }, said: { words, known } }) {
  const set = (more) => kind === "link" ? editor2.chain().extendMarkRange("link").updateAttributes("link", more).run() : editor2.view.dispatch(keep(editor2, at2, editor2.state.tr.setNodeMarkup(at2, void 0, { ...editor2.state.doc.nodeAt(at2).attrs, ...more })));
  const noLink = (text) => !mayLead(text.trim());
  const address = an`<${Line} id="visual-address" label=${words.address} value=${attrs.href} hint="https://" wrong=${noLink} onInput=${(href) => set({ href: href.trim() })} />`;
  if (kind === "variable") return an`<div class="visual-fields"><label class="visual-field"><span>${words.variable}</span><${Choice} label=${words.variable} value=${attrs.key} options=${[...known.some((v2) => v2.name === attrs.key) ? [] : [[attrs.key, attrs.key]], ...known.map(({ name }) => [name, name.replace(/^contact\./, "")])]} onChange=${(key) => set({ key })} /></label>
		<${Line} label=${words.fallback} hint=${words.fallbackHint} value=${attrs.fallback} wrong=${(text) => /[{}]/.test(text)} onInput=${(text) => set({ fallback: text === "" ? null : text })} /></div>`;
  if (kind === "image") return an`<div class="visual-fields"><${Line} id="visual-address" label=${words.imageAddress} hint="https://" value=${attrs.src} wrong=${(text) => text !== "" && !/^https:\/\/\S+$/i.test(text.trim())} onInput=${(src) => set({ src: src.trim() })} />
		<${Line} label=${words.alt} hint=${words.altHint} value=${attrs.alt} onInput=${(alt) => set({ alt })} /><${Line} label=${words.width} hint=${words.widthHint} value=${attrs.width} wrong=${(text) => !/^\d{0,4}$/.test(text)} onInput=${(width) => set({ width: width || null })} /></div>`;
  return an`<div class="visual-fields">${address}${kind === "link" && an`<button type="button" class="btn" onClick=${() => editor2.chain().focus().extendMarkRange("link").unsetMark("link").run()}>${words.unlink}</button>`}</div>`;
}
var keep = (editor2, at2, tr) => editor2.state.selection instanceof NodeSelection ? tr.setSelection(NodeSelection.create(tr.doc, at2)) : tr;

// module:visual-frame.js
var pause = 250;
var home = new URL(location.href).origin;
var port = null;
var editor = null;
var said = {};
var due = 0;
addEventListener("message", (e) => {
  if (e.source !== parent || e.origin !== home || !e.ports[0] || port) return;
  port = e.ports[0];
  port.onmessage = ({ data }) => hear(data);
  port.postMessage({ kind: "ready" });
});
function hear(data) {
  if (data.kind === "open") open(data);
  if (data.kind === "know") draw(data);
  if (data.kind === "focus") editor?.commands.focus();
}
function draw(more) {
  said = { ...said, ...more };
  const root = document.documentElement;
  root.lang = said.language;
  root.style.colorScheme = said.dark ? "dark" : "light";
  Nt(
    an`<${Tools} editor=${editor} said=${said} />`,
    /** @type {any} */
    document.getElementById("root")
  );
}
function open(data) {
  editor?.destroy();
  editor = null;
  draw(data);
  const host = (
    /** @type {any} */
    document.getElementById("sheet")
  );
  host.replaceChildren();
  wear(host, data.kit);
  try {
    editor = new Editor({
      element: host,
      extensions: extensions(data.kit, data.words),
      content: JSON.parse(data.design),
      enableContentCheck: true,
      editorProps: {
        attributes: { role: "textbox", "aria-multiline": "true", "aria-label": said.words.content, spellcheck: "true" },
        transformPastedHTML: tidy,
        handleKeyDown: (_view, e) => keys(e)
      },
      onUpdate: () => later(),
      onTransaction: () => editor && draw({})
    });
  } catch (error) {
    port.postMessage({ kind: "failed", message: String(error) });
    return;
  }
  toText();
  draw({});
  if (data.fresh) later();
}
function toText() {
  let first = 0;
  editor.state.doc.descendants((node, at2) => {
    if (!first && node.isTextblock) first = at2 + 1;
    return !first;
  });
  if (first) editor.commands.setTextSelection(first);
}
function wear(host, { colors, font }) {
  host.classList.toggle("has-color", Boolean(colors));
  host.classList.toggle("has-font", Boolean(font));
  for (const [name, value] of [...Object.entries(colors ?? {}), ["font", font]]) if (value) host.style.setProperty(`--kit-${name}`, value);
}
function tidy(text) {
  const pasted = new DOMParser().parseFromString(text, "text/html");
  if (pasted.querySelector("[data-pm-slice]")) return text;
  for (const element of pasted.querySelectorAll("script, style, iframe, object, embed, link, meta, base")) element.remove();
  for (const element of pasted.querySelectorAll("*")) for (const { name } of [...element.attributes]) if (!["href", "src", "alt"].includes(name)) element.removeAttribute(name);
  return new XMLSerializer().serializeToString(pasted.body);
}
function keys(e) {
  if (!(e.metaKey || e.ctrlKey) || e.altKey) return false;
  const key = e.key.toLowerCase();
  if (key !== "s" && key !== "k") return false;
  e.preventDefault();
  if (key === "s") {
    tell().then(() => port.postMessage({ kind: "save" }));
    return true;
  }
  document.getElementById("visual-link")?.click();
  return true;
}
function later() {
  due ||= window.setTimeout(tell, pause);
}
async function tell() {
  clearTimeout(due);
  due = 0;
  const of = editor;
  if (!of) return;
  const design = JSON.stringify(of.getJSON());
  speak(said.language);
  const { html: made } = await composeReactEmail({ editor: of });
  if (of === editor) port.postMessage({ kind: "changed", design, html: made });
}
addEventListener("pagehide", () => due && tell());
