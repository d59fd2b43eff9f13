// ---------------------------------------------------------------- solids

// rotations are nine numbers, row after row
function turned(out, at, x, y, z, w) {
  // of a quaternion, which need not be of unit length
  const s = 2 / (x * x + y * y + z * z + w * w || 1);
  out[at] = 1 - s * (y * y + z * z); out[at + 1] = s * (x * y - z * w); out[at + 2] = s * (x * z + y * w);
  out[at + 3] = s * (x * y + z * w); out[at + 4] = 1 - s * (x * x + z * z); out[at + 5] = s * (y * z - x * w);
  out[at + 6] = s * (x * z - y * w); out[at + 7] = s * (y * z + x * w); out[at + 8] = 1 - s * (x * x + y * y);
}

function product(out, o, a, i, b, j) {
  for (let r = 0; r < 9; r += 3) {
    const x = a[i + r], y = a[i + r + 1], z = a[i + r + 2];
    for (let c = 0; c < 3; c++) out[o + r + c] = x * b[j + c] + y * b[j + 3 + c] + z * b[j + 6 + c];
  }
}

function carried(out, o, p, i, R, j, v, k) {
  // p + R v
  for (let a = 0; a < 3; a++) out[o + a] = p[i + a] + R[j + 3 * a] * v[k] + R[j + 3 * a + 1] * v[k + 1] + R[j + 3 * a + 2] * v[k + 2];
}

class MovingRobot {
  // the places of a robot at any time, and the vertices of its solids on them
  constructor(film, number) {
    this.name = film.name;
    this.number = number;
    this.times = numbers(film.time);
    this.links = numbers(film.links);
    this.count = this.links.length / this.times.length / 7;
    this.link = whole(film.places.link);
    this.at = numbers(film.places.at);
    const axes = numbers(film.places.axes), size = this.link.length;
    this.axes = new Float32Array(9 * size);
    for (let i = 0; i < size; i++) turned(this.axes, 9 * i, ...axes.subarray(4 * i, 4 * i + 4));
    this.moved = whole(film.moved);
    [this.shifts, this.turns, this.strains] = [film.shifts, film.turns, film.strains].map(stepped);
    this.tip = numbers(film.tip);
    this.lines = film.lines;
    this.solids = film.solids.map((solid) => ({
      kind: solid.kind, modulus: solid.modulus,
      places: whole(solid.places), offsets: numbers(solid.offsets), faces: whole(solid.faces),
    }));
    for (const solid of this.solids) solid.vertices = new Float32Array(solid.offsets.length);
    this.p = new Float32Array(3 * size);
    this.rest = new Float32Array(3 * size);
    this.R = new Float32Array(9 * size);
    this.shift = new Float32Array(size);
    this.strain = new Float32Array(3 * size);
  }

  picture(time) {
    // the picture at the time, and the part of the way to the next one
    const times = this.times;
    let low = 0, high = Math.max(times.length - 2, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle; else high = middle - 1;
    }
    const next = Math.min(low + 1, times.length - 1), span = times[next] - times[low];
    return [low, next, span > 0 ? Math.min(Math.max((time - times[low]) / span, 0), 1) : 0];
  }

  set(time, magnify) {
    const [k, l, part] = this.picture(time), pose = new Float32Array(7), own = new Float32Array(9), turn = new Float32Array(9);
    const between = (values, a, b) => values[a] + part * (values[b] - values[a]);
    const P = new Float32Array(3 * this.count), Q = new Float32Array(9 * this.count);
    for (let i = 0; i < this.count; i++) {
      for (let a = 0; a < 7; a++) pose[a] = between(this.links, 7 * (k * this.count + i) + a, 7 * (l * this.count + i) + a);
      P.set(pose.subarray(0, 3), 3 * i);
      turned(Q, 9 * i, pose[3], pose[4], pose[5], pose[6]);
    }
    for (let i = 0; i < this.link.length; i++) {
      carried(this.rest, 3 * i, P, 3 * this.link[i], Q, 9 * this.link[i], this.at, 3 * i);
      product(this.R, 9 * i, Q, 9 * this.link[i], this.axes, 9 * i);
    }
    this.p.set(this.rest);
    const n = this.moved.length, theta = [0, 0, 0];
    this.moved.forEach((i, j) => {
      const from = 3 * (k * n + j), to = 3 * (l * n + j);
      let square = 0;
      for (let a = 0; a < 3; a++) {
        const shift = between(this.shifts, from + a, to + a);
        this.p[3 * i + a] += magnify * shift;
        square += shift * shift;
        theta[a] = magnify * between(this.turns, from + a, to + a);
        this.strain[3 * i + a] = between(this.strains, from + a, to + a);
      }
      this.shift[i] = Math.sqrt(square);
      const angle = Math.hypot(...theta), s = angle > 1e-9 ? Math.sin(angle / 2) / angle : 0.5;
      turned(turn, 0, s * theta[0], s * theta[1], s * theta[2], Math.cos(angle / 2));
      own.set(this.R.subarray(9 * i, 9 * i + 9));
      product(this.R, 9 * i, turn, 0, own, 0);
    });
  }

  vertices(solid, thick) {
    const scaled = solid.kind === "flexible" && thick !== 1;
    const offsets = scaled ? solid.offsets.map((x) => thick * x) : solid.offsets;
    for (let v = 0; v < solid.places.length; v++) {
      const i = solid.places[v];
      carried(solid.vertices, 3 * v, this.p, 3 * i, this.R, 9 * i, offsets, 3 * v);
    }
    return solid.vertices;
  }

  deflection(solid, v) {
    return this.shift[solid.places[v]];
  }

  stress(solid, v) {
    const i = 3 * solid.places[v], y = solid.offsets[3 * v + 1], z = solid.offsets[3 * v + 2];
    return solid.modulus * (this.strain[i] - y * this.strain[i + 1] - z * this.strain[i + 2]);
  }

  largest() {
    // of all pictures, what colours have to tell apart
    const most = { deflection: 0, stress: 0 };
    for (let i = 0; i < this.shifts.length; i += 3) most.deflection = Math.max(most.deflection, Math.hypot(this.shifts[i], this.shifts[i + 1], this.shifts[i + 2]));
    const row = new Int32Array(this.link.length).fill(-1), n = this.moved.length;
    this.moved.forEach((place, j) => { row[place] = j; });
    for (const solid of this.solids.filter(({ modulus }) => modulus)) {
      const places = [...new Set(solid.places)].map((place) => row[place]).filter((j) => j >= 0);
      let wide = 0, high = 0;
      for (let v = 0; v < solid.offsets.length; v += 3) { wide = Math.max(wide, Math.abs(solid.offsets[v + 1])); high = Math.max(high, Math.abs(solid.offsets[v + 2])); }
      for (let k = 0; k < this.times.length; k++) {
        for (const j of places) {
          const i = 3 * (k * n + j), S = this.strains;
          most.stress = Math.max(most.stress, solid.modulus * (Math.abs(S[i]) + wide * Math.abs(S[i + 1]) + high * Math.abs(S[i + 2])));
        }
      }
    }
    return most;
  }
}

class Painter {
  // solids in parallel projection, lit from the upper left behind the reader
  static make(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    return gl ? new Painter(gl, canvas) : null;
  }

  constructor(gl, canvas) {
    Object.assign(this, { gl, canvas });
    const compiled = (kind, text) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      return shader;
    };
    this.program = gl.createProgram();
    gl.attachShader(this.program, compiled(gl.VERTEX_SHADER, `#version 300 es
      in vec3 place; in vec3 colour; uniform mat4 view; out vec3 seen; out vec3 shade;
      void main() { vec4 p = view * vec4(place, 1.0); seen = p.xyz; shade = colour; gl_Position = p; }`));
    gl.attachShader(this.program, compiled(gl.FRAGMENT_SHADER, `#version 300 es
      precision highp float;
      in vec3 seen; in vec3 shade; uniform vec3 stretch; uniform float alpha; out vec4 result;
      void main() {
        vec3 p = seen * stretch;
        vec3 n = normalize(cross(dFdx(p), dFdy(p)));
        if (n.z < 0.0) n = -n;
        float light = 0.52 + 0.36 * max(dot(n, normalize(vec3(-0.4, 0.75, 0.6))), 0.0) + 0.2 * n.z;
        result = vec4(min(shade * light, 1.0), 1.0) * alpha;
      }`));
    gl.linkProgram(this.program);
    gl.useProgram(this.program);
    for (const name of ["place", "colour"]) this[name] = { at: gl.getAttribLocation(this.program, name), buffer: gl.createBuffer() };
    this.uniforms = Object.fromEntries(["view", "stretch", "alpha"].map((name) => [name, gl.getUniformLocation(this.program, name)]));
    this.faces = gl.createBuffer();
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  begin(width, height, view, depth) {
    // view: right, up, towards, scale in pixels per metre, and the picture of the origin
    const { gl, canvas } = this, dots = window.devicePixelRatio || 1;
    const size = [Math.round(width * dots), Math.round(height * dots)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    gl.viewport(0, 0, ...size);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const { right, up, towards, scale, origin } = view, x = (2 * scale) / width, y = (2 * scale) / height, z = -1 / depth;
    const matrix = [0, 1, 2].flatMap((a) => [x * right[a], y * up[a], z * towards[a], 0]);
    matrix.push((2 * origin[0]) / width - 1, 1 - (2 * origin[1]) / height, -z * view.middle, 1);
    gl.uniformMatrix4fv(this.uniforms.view, false, matrix);
    gl.uniform3f(this.uniforms.stretch, 1 / x, 1 / y, 1 / z);
  }

  draw(vertices, colours, faces, alpha) {
    const { gl } = this;
    for (const [attribute, values] of [[this.place, vertices], [this.colour, colours]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, attribute.buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(attribute.at);
      gl.vertexAttribPointer(attribute.at, 3, gl.FLOAT, false, 0, 0);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.faces);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.DYNAMIC_DRAW);
    gl.uniform1f(this.uniforms.alpha, alpha);
    gl.drawElements(gl.TRIANGLES, faces.length, gl.UNSIGNED_INT, 0);
  }
}
