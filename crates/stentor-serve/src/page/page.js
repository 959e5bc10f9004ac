// Puts what the server sends in its place, and sends what a person asks for. All HTML comes from the
// server, which has escaped it.
"use strict";

const element = (id) => document.getElementById(id);
const body = document.body;
const transcript = element("transcript");
const text = element("text");

let socket = null;
let state = {};
let pictures = [];
let tries = 0;

// The message that the address names, until its session is shown.
let wanted = null;

// What stands behind the address: the session, and one of its messages (`at`).
const inAddress = (name) => new URLSearchParams(location.hash.slice(1)).get(name);
const addressOf = (fields) => "#" + new URLSearchParams(fields);
const shownSession = () => inAddress("session");

// The token comes behind the address, once, and is kept for this origin. It is in no request's path.
function takeToken() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (!fields.has("token")) return false;
  localStorage.setItem("token", fields.get("token"));
  fields.delete("token");
  // Where new sessions work.
  if (fields.has("cwd")) sessionStorage.setItem("cwd", fields.get("cwd"));
  fields.delete("cwd");
  history.replaceState(null, "", "#" + fields);
  return true;
}

function send(command) {
  if (socket && socket.readyState === WebSocket.OPEN) {
    socket.send(JSON.stringify(command));
    return true;
  }
  notice("error", "There is no connection to the server.");
  return false;
}

function connect() {
  const token = localStorage.getItem("token");
  if (!token) return login();
  const cwd = sessionStorage.getItem("cwd");
  const query = cwd ? "?" + new URLSearchParams({ cwd }) : "";
  const address = location.origin.replace(/^http/, "ws") + "/page" + query;
  let opened = false;
  try {
    socket = new WebSocket(address, ["stentor", "stentor.token." + token]);
  } catch {
    return login("That is not a token.");
  }
  socket.onopen = () => {
    opened = true;
    tries = 0;
    say("Connected", false);
    const session = shownSession() ?? state.session;
    wanted = inAddress("at");
    send(session ? { do: "open", session } : { do: "list" });
  };
  socket.onmessage = (event) => apply(JSON.parse(event.data));
  socket.onclose = () => {
    say("Not connected", true);
    if (opened) return later();
    // A browser is not told why: whether the token is wrong is asked by other means.
    fetch("/page", { headers: { Authorization: "Bearer " + token } }).then(
      (answer) => (answer.status === 401 ? login("The token is wrong.") : later()),
      later,
    );
  };
}

function later() {
  tries += 1;
  setTimeout(connect, Math.min(500 * 2 ** tries, 15000));
}

function say(what, lost) {
  element("connection").textContent = what;
  element("connection").classList.toggle("lost", lost);
}

function login(why) {
  localStorage.removeItem("token");
  say("Not connected", true);
  if (why) element("login-why").textContent = why;
  if (!element("login").open) element("login").showModal();
}

element("token-form").addEventListener("submit", () => {
  localStorage.setItem("token", element("token").value.trim());
  element("token").value = "";
  connect();
});

// What can have the focus in a piece.
const CONTROLS = "a[href], button, input, select, textarea, summary";

// Puts a new piece in the place of another; who was in the old one is in the new one then.
function renew(old, change) {
  const active = document.activeElement;
  const inside = old !== active && old.contains(active);
  const number = inside ? [...old.querySelectorAll(CONTROLS)].indexOf(active) : -1;
  const session = inside && active.dataset.session;
  const renewed = change();
  if (!inside || !renewed) return;
  const controls = [...renewed.querySelectorAll(CONTROLS)];
  const same = session && controls.find((one) => one.dataset.session === session);
  (same || controls[number])?.focus({ preventScroll: true });
}

const places = {
  set: (id, op) => {
    const place = element(id);
    if (!place) return;
    renew(place, () => {
      place.innerHTML = op.html;
      return place;
    });
    if (id === "queue") body.classList.toggle("queued", op.html !== "");
    if (id === "transcript") toEnd();
  },
  append: (id, op) => element(id)?.insertAdjacentHTML("beforeend", op.html),
  replace: (id, op) => {
    const old = element(id);
    if (!old) return element(op.within)?.insertAdjacentHTML("beforeend", op.html);
    // What a person has folded or unfolded stays so.
    const open = [...old.querySelectorAll("details")].map((part) => part.open);
    renew(old, () => {
      old.outerHTML = op.html;
      element(id)
        ?.querySelectorAll("details")
        .forEach((part, number) => {
          if (number in open) part.open = open[number];
        });
      return element(id);
    });
  },
  text: (id, op) => element(id)?.append(op.text),
  remove: (id) => {
    const old = element(id);
    const inside = old?.contains(document.activeElement);
    old?.remove();
    // Who has answered goes on with the next question, or says something.
    if (inside) (element("questions").firstElementChild ?? text).focus();
  },
};

function apply(op) {
  const place = places[op.op];
  if (place) {
    const follows = following;
    const before = element("questions").childElementCount;
    place(op.id, op);
    if (follows) toEnd();
    const asked = element("questions").childElementCount;
    // The question, not one of its buttons: a key that was meant for something else answers nothing.
    if (asked > before && document.activeElement === body) {
      element("questions").firstElementChild.focus({ preventScroll: true });
    }
    // Which sessions ask something is in the list.
    if (asked !== before) send({ do: "list" });
    return;
  }
  if (op.op === "state") return show(op);
  if (op.op === "notice") return notice(op.level, op.text);
  if (op.op === "status") element("status").textContent = op.text;
  if (op.op === "reload") send({ do: "open", session: op.session });
  if (op.op === "editor" && op.text) {
    text.value = [text.value, op.text].filter(Boolean).join("\n\n");
    text.focus();
  }
}

// Who has not scrolled away from the end sees it also when there is more, or less room.
let following = true;
const noteEnd = () => {
  following = transcript.scrollHeight - transcript.scrollTop - transcript.clientHeight < 80;
};
transcript.addEventListener("scroll", noteEnd);
new ResizeObserver(() => following && toEnd()).observe(transcript);

function toEnd() {
  transcript.scrollTop = transcript.scrollHeight;
}

// Shows one message, by its id.
function goTo(id) {
  transcript.querySelector(".target")?.classList.remove("target");
  const message = /^m\d+$/.test(id) && element(id);
  if (!message) return;
  message.classList.add("target");
  message.scrollIntoView({ block: "start" });
  noteEnd();
}

function show(next) {
  const wasRunning = state.running;
  // What extensions show is of their session, and is not sent again when that is drawn anew.
  if (next.session !== state.session) element("widgets").textContent = "";
  state = next;
  body.classList.toggle("running", next.running);
  body.classList.toggle("observes", next.observes);
  transcript.setAttribute("aria-busy", String(next.running));
  element("send").textContent = next.running ? "Steer" : "Send";
  element("title").textContent = next.title || (next.session ? "Session" : "Stentor");
  element("cwd").textContent = next.cwd;
  document.title = (next.running ? "… " : "") + (next.title || "Stentor");
  for (const id of ["model", "thinking", "mode"]) if (next[id]) element(id).value = next[id];
  if (next.session && next.session !== shownSession()) {
    history.replaceState(null, "", addressOf({ session: next.session }));
    if (body.classList.contains("sessions")) {
      unfold("sessions", false);
      text.focus();
    }
  } else if (next.session && wanted) {
    goTo(wanted);
  }
  if (next.session) wanted = null;
  if (wasRunning !== undefined && wasRunning !== next.running) send({ do: "list" });
}

function notice(level, what) {
  const line = document.createElement("p");
  line.className = level;
  const said = document.createElement("span");
  said.textContent = what;
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.onclick = () => line.remove();
  line.append(said, close);
  element("notices").append(line);
  while (element("notices").childElementCount > 4) element("notices").firstElementChild.remove();
}

// What a control says in its attributes is the command it sends.
document.addEventListener("click", (event) => {
  const control = event.target.closest("button[data-do]");
  if (!control) return;
  const command = { ...control.dataset };
  if ("id" in command) command.id = Number(command.id);
  send(command);
  if (command.do === "fork") element("forks").textContent = "";
});

document.addEventListener("change", (event) => {
  if (event.target.matches("select[data-do]")) {
    send({ do: event.target.dataset.do, value: event.target.value });
  }
});

document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-do]")) {
    event.preventDefault();
    const form = event.target;
    const command = { do: form.dataset.do, id: Number(form.dataset.id) };
    // A form with boxes to tick has several values, any other has one.
    if (form.elements.value) command.value = form.elements.value.value;
    else command.values = new FormData(form).getAll("values");
    send(command);
  }
});

function saySomething(what) {
  if (!text.value.trim() && !pictures.length) return;
  if (send({ do: what, text: text.value, pictures })) {
    text.value = "";
    pictures = [];
    showPictures();
    element("notices").textContent = "";
    toEnd();
  }
}

element("prompt").addEventListener("submit", (event) => {
  event.preventDefault();
  saySomething("prompt");
});
element("follow-up").addEventListener("click", () => saySomething("follow_up"));

text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  saySomething(event.altKey && state.running ? "follow_up" : "prompt");
});

// Escape closes what was unfolded, else it stops what runs. In a list of choices, in the field of a
// question and in the middle of a composition it has another meaning.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || event.keyCode === 229) return;
  if (event.defaultPrevented || event.repeat || element("login").open) return;
  if (event.target.closest("select")) return;
  const unfolded = Object.keys(PANELS).filter((name) => body.classList.contains(name));
  if (unfolded.length) {
    for (const name of unfolded) unfold(name, false);
    element("show-" + unfolded[0]).focus();
  } else if (state.running && !state.observes && isForStopping(event.target)) {
    send({ do: "abort" });
  }
});

const isForStopping = (target) => target === body || target.closest("#prompt, #transcript");

const PANELS = { sessions: "session-list", details: "details" };
function unfold(name, open) {
  body.classList.toggle(name, open);
  element("show-" + name).setAttribute("aria-expanded", String(open));
  if (open) element(PANELS[name]).focus();
}
for (const name of Object.keys(PANELS)) {
  element("show-" + name).addEventListener("click", () => unfold(name, !body.classList.contains(name)));
}

// A link to a message names the session as well, also where it is copied or opened elsewhere.
for (const kind of ["pointerdown", "focusin", "click"]) {
  document.addEventListener(
    kind,
    (event) => {
      const link = event.target.closest?.("a[href^='#m']");
      if (!link || !state.session) return;
      const at = link.getAttribute("href").slice(1);
      link.setAttribute("href", addressOf({ session: state.session, at }));
    },
    true,
  );
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.matches(".skip")) {
    event.preventDefault();
    (state.observes ? transcript : text).focus();
  } else {
    // The address may say so already, and nothing would happen.
    goTo(new URLSearchParams(link.hash.slice(1)).get("at"));
  }
});

function addPictures(files) {
  for (const file of files) {
    if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type)) continue;
    const reader = new FileReader();
    reader.onload = () => {
      pictures.push({ type: file.type, data: reader.result.split(",")[1] });
      showPictures();
    };
    reader.readAsDataURL(file);
  }
}

function showPictures() {
  const list = element("pictures");
  list.textContent = "";
  pictures.forEach((picture, number) => {
    const image = document.createElement("img");
    image.src = `data:${picture.type};base64,${picture.data}`;
    image.alt = "Picture " + (number + 1);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "Remove";
    remove.onclick = () => {
      pictures.splice(number, 1);
      showPictures();
    };
    const item = document.createElement("li");
    item.append(image, remove);
    list.append(item);
  });
}

element("picture").addEventListener("change", (event) => {
  addPictures(event.target.files);
  event.target.value = "";
});
text.addEventListener("paste", (event) => addPictures(event.clipboardData.files));
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  addPictures(event.dataTransfer.files);
});

window.addEventListener("hashchange", () => {
  // An address that was pasted.
  if (takeToken()) return location.reload();
  const session = shownSession();
  if (!session) {
    // Another place in the page: the session is still the same.
    if (state.session) history.replaceState(null, "", addressOf({ session: state.session }));
  } else if (session !== state.session) {
    wanted = inAddress("at");
    send({ do: "open", session });
  } else {
    goTo(inAddress("at"));
  }
});
setInterval(() => {
  if (!document.hidden && socket?.readyState === WebSocket.OPEN) send({ do: "list" });
}, 15000);

takeToken();
connect();
