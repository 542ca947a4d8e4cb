using System;
using System.Runtime.InteropServices;

namespace Worldd
{
    /// <summary>The result of a call: WD_OK ... of worldd.h.</summary>
    public enum Result
    {
        Ok = 0, None = 1, BadClient = -1, BadArgument = -2, BadSize = -3, NotJoined = -4, Busy = -5, Ended = -6, Refused = -7, Fault = -8
    }

    public enum State { Connecting = 0, Joined = 1, Reconnecting = 2, Ended = 3 }

    /// <summary>A verdict on a handle. Lacking: in view, without the component that was read.</summary>
    public enum Verdict : byte { Pending = 0, Live = 1, Hidden = 2, Stale = 3, Provisional = 4, Lacking = 5 }

    public enum EventType { State = 1, Enter = 2, Update = 3, Leave = 4, Destroy = 5, Message = 6, Result = 7, Lost = 8, Effect = 9, Undo = 10 }

    [Flags]
    public enum StateFlags : uint { None = 0, Resumed = 1, Restored = 2, Moved = 4, NewWorld = 8 }

    [Flags]
    public enum ClientFlags : uint { None = 0, InsecureDev = 1, WebSocket = 2, Simulate = 4, StrictSchema = 8, Updates = 16 }

    public enum Section { Component = 1, Event = 2, Command = 3, Kind = 4 }

    /// <summary>When to read: the newest state, for rules, or the state at the moment of Render, for pictures.</summary>
    public enum When { Newest = 0, Rendered = 1 }

    public enum TextOf { Error = 1, Event = 2, Room = 3, Schema = 4, Changes = 5 }

    /// <summary>How to connect. Only Address is required; worldd.h documents all.</summary>
    public sealed class ClientDef
    {
        public ClientFlags Flags;
        public string Address, MoreAddresses, Fingerprint, Schema, Name, Room, Version, MinServer;
        public byte[] Token;
        public ulong Epoch;
        public double GiveUp;
        public ulong MaxBytes;
        public uint MaxEntities, MaxEvents;
    }

    /// <summary>A snapshot of a client. Times are in seconds.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Status
    {
        internal uint Size;
        public State State;
        public int Code;
        public uint Tick, TickHz, SnapshotHz, Entities, AppliedInput;
        public ulong Controlled, Epoch, Session;
        public double RenderTick, RoundTrip, Delay;
        public ulong BytesReceived, Memory, Snapshots, EventsLost;
        public uint OverTcp, Unanswered;
    }

    /// <summary>One thing that happened. EventType says which members it has: see worldd.h.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Event
    {
        internal uint Size;
        public EventType Type;
        public uint Tick, Number;
        public ulong Handle;
        public uint Id;
        public int Code;
        int verdict;
        public State State;
        public uint Reason;
        public StateFlags Flags;
        public ulong BodySize;

        public Verdict Verdict { get { return (Verdict)verdict; } }
    }

    /// <summary>One entity in view.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Entity
    {
        internal uint Size;
        public uint Kind, Tick, Components, Owned;
        uint reserved;
    }

    /// <summary>A call that failed. The message says whose fault it is, and what to do.</summary>
    public sealed class WorlddException : Exception
    {
        public Result Result { get; private set; }

        public WorlddException(Result result, string message) : base("WD_" + result + ": " + message) { Result = result; }
    }
}
