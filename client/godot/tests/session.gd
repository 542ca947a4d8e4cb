# A script that plays the session of client/c/engines in Godot, and prints what it sees, one line each.
extends SceneTree

const Plot = preload("res://plot.gd")
const VERDICTS = ["Pending", "Live", "Hidden", "Stale", "Provisional"]

# What the script predicts of its player: a body that its input moves, and then a number of its own.
class Walker:
	var client
	var refused = 0

	func walk(state, held, tick):
		var b = StreamPeerBuffer.new()
		b.data_array = held
		var stick = Plot.InputRecord.new().read_from(b)
		b.data_array = state
		var body = Plot.BodyRecord.new().read_from(b)
		var steps = state[Plot.BodyRecord.SIZE] + 1
		body.velocity[0] = stick.x
		body.velocity[2] = stick.z
		body.position[0] += stick.x / 60
		body.position[2] += stick.z / 60
		if client.get_ref().lookup(1) == -5:
			refused += 1
		var after = body.to_bytes()
		after.append(steps % 256)
		return [after, 7] if tick % 16 == 0 else [after]

func _init():
	var client = load("res://worldd.gdns").new()
	if client.connect_to("nowhere", "", "", "godot") != -2 or not "nowhere" in client.text(1):
		print("a mistake was not noticed")
	elif client.connect_to(OS.get_environment("PLOT_ADDRESS"), OS.get_environment("PLOT_FINGERPRINT"), Plot.SCHEMA, "godot") != 0:
		print("not connected: ", client.text(1))
	elif client.update() != null:
		print("a call without its argument was made")
	else:
		play(client)
	quit()

func play(client):
	var victim = 0
	var asked = 0
	var seed_ = 0
	var planted = 0
	var held = 0
	var answered = false
	var destroyed = false
	var struck = false
	var stick = Plot.InputRecord.new()
	stick.x = 1.0
	var effect = false
	var walker = Walker.new()
	walker.client = weakref(client)
	var components = [Plot.COMPONENT_BODY]
	var sizes = [Plot.BodyRecord.SIZE + 1, Plot.InputRecord.SIZE]
	if client.predict(components, 3, sizes[1], walker, "walk", 0.0) != -3 or client.predict(components, sizes[0], sizes[1], walker, "run", 0.0) != -2:
		print("a mistake was not noticed")
	if client.predict(components, sizes[0], sizes[1], walker, "walk", 0.0) != 0 or client.predict(components, sizes[0], sizes[1], walker, "walk", 0.0) != -7:
		print("not predicted: ", client.text(1))
	while not (answered and destroyed and struck and planted > 0 and client.lookup(seed_) == 1 and effect and client.prediction()["agreed"] >= 20 and held > 0 and client.status()["applied_input"] >= held):
		if OS.get_ticks_msec() > 60000:
			print("out of time: ", client.status(), client.text(1))
			return
		var tick = client.set_input(stick.to_bytes())
		if held == 0 and tick > 0:
			held = tick
		if client.update(OS.get_ticks_usec() / 1000000.0) != 0:
			print("ended: ", client.text(1))
			return
		var e = client.poll()
		while e != null:
			if e["type"] == 5 and e["handle"] == victim:
				destroyed = e["reason"] == 3
			if e["type"] == 9:
				effect = e["number"] == 7 and e["tick"] % 16 == 0
			if e["type"] == 6 and e["number"] == Plot.EVENT_BELL:
				struck = Plot.BellEvent.new().read_from(buffer(e["body"])).word == "gone"
			if e["type"] == 7 and e["id"] == asked:
				var answer = Plot.BreakAnswer.new().read_from(buffer(e["body"]))
				print("answer %d verdict %s %s" % [e["code"], VERDICTS[e["verdict"]], answer.words])
				answered = true
				seed_ = client.take_provisional()
				var plant = StreamPeerBuffer.new()
				plant.big_endian = true
				plant.put_u8(0xcf) # msgpack: 64 bits
				plant.put_64(seed_)
				if client.send_raw(Plot.COMMAND_PLANT, 0, plant.data_array, [victim]) != -7:
					print("a mistake was not noticed")
				planted = client.send_raw(Plot.COMMAND_PLANT, 0, plant.data_array, [seed_])
			elif e["type"] == 7 and planted > 0 and e["id"] == planted and client.real(seed_) != 0 and client.real(seed_) != seed_:
				print("planted %d Live" % e["code"])
			e = client.poll()
		if asked == 0 and client.render() != null and client.entities().size() == 42:
			var handles = client.entities()
			print_rows(client, handles)
			handles.sort()
			victim = handles[0]
			var who = Plot.BreakArgs.new()
			who.name = "Zoë"
			asked = client.send(Plot.COMMAND_BREAK, victim, who.to_bytes())
			print("victim %016x %s" % [victim, VERDICTS[client.lookup(victim)]])
		OS.delay_msec(4)
	var drawn = client.read_predicted(1)
	if drawn == null or Plot.BodyRecord.new().read_from(buffer(drawn)).position[0] <= 0 or walker.refused == 0:
		print("no prediction: ", drawn)
	var p = client.prediction()
	print("predicted %d agreed %d corrected %d missed" % [p["agreed"], p["corrected"], p["missed"]])
	print("stale %016x %s controlled %s" % [victim, VERDICTS[client.lookup(victim)], VERDICTS[client.lookup(client.status()["controlled"])]])
	print("end")

# Reads all entities in bulk: one field, and whole records.
func print_rows(client, handles):
	var positions = client.read_floats(Plot.COMPONENT_BODY, Plot.BODY_FIELD_POSITION, 0, handles)
	var signs = buffer(client.read_records(Plot.COMPONENT_SIGN, 0, handles, Plot.SignRecord.SIZE))
	for i in range(handles.size()):
		var s = Plot.SignRecord.new().read_from(signs, i * Plot.SignRecord.SIZE)
		if s.label == "": # a player
			continue
		var data = []
		for b in s.data:
			data.append("%02X" % b)
		print("row %016x %s %s %s %d %016x %d %d %s %s %s" % [handles[i], bits(positions[3 * i]), bits(positions[3 * i + 1]), bits(positions[3 * i + 2]),
			s.rank, s.friend, 1 if s.lit else 0, s.marks[2], bits(s.facing[3]), s.label, PoolStringArray(data).join("-")])

func buffer(bytes):
	var b = StreamPeerBuffer.new()
	b.data_array = bytes
	return b

func bits(v):
	var b = StreamPeerBuffer.new()
	b.put_float(v)
	b.seek(0)
	return "%08x" % b.get_u32()
